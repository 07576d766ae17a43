package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

const binderName = "BindAtOnce"

// binder takes the place of DefaultBinder: it says yes without asking anyone. PostBind is the last
// thing that a bind does, and tells that it is over.
type binder struct{ bound chan<- struct{} }

var (
	_ fwk.BindPlugin     = &binder{}
	_ fwk.PostBindPlugin = &binder{}
)

func (c *cycle) newBinder(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
	return &binder{bound: c.bound}, nil
}

func (*binder) Name() string { return binderName }

func (*binder) Bind(context.Context, fwk.CycleState, *corev1.Pod, string) *fwk.Status { return nil }

func (b *binder) PostBind(context.Context, fwk.CycleState, *corev1.Pod, string) {
	b.bound <- struct{}{}
}

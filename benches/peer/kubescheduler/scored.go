package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

const scoredName = "NoteScored"

// scored notes which nodes a cycle goes on to score. It scores none itself. A cycle that finds only
// one node does not come here.
type scored struct{ note func(nodes []fwk.NodeInfo) }

var _ fwk.PreScorePlugin = &scored{}

func (c *cycle) newScored(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
	return &scored{note: func(nodes []fwk.NodeInfo) { c.scored = nodes }}, nil
}

func (*scored) Name() string { return scoredName }

func (s *scored) PreScore(_ context.Context, _ fwk.CycleState, _ *corev1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	s.note(nodes)
	return nil
}

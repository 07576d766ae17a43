package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// answer is what kube-scheduler's plugins say of one pod in the state in which its cycle began,
// and what the cycle then did.
type answer struct {
	Pod string `json:"pod"`
	// Totals holds the nodes that pass all filters, each with its weighted score. Where only some
	// nodes are looked at, it holds those that the cycle found.
	Totals    map[string]int64 `json:"totals"`
	Node      string           `json:"node,omitempty"`
	Nominated string           `json:"nominated,omitempty"`
	Message   string           `json:"message,omitempty"`
	// Claims are those that are reserved for the pod after its bind.
	Claims []resourcev1.ResourceClaim `json:"claims,omitempty"`

	uid types.UID
}

// noteAnswers asks every plugin about every node before each cycle, or about the nodes that the cycle
// found after it.
func (c *cycle) noteAnswers() {
	original := c.scheduler.SchedulePod
	c.scheduler.SchedulePod = func(ctx context.Context, profile framework.Framework, state fwk.CycleState,
		info *framework.QueuedPodInfo) (scheduler.ScheduleResult, error) {
		var totals map[string]int64
		if !c.samples {
			var err error
			if totals, err = judge(ctx, profile, info.Pod, nil); err != nil {
				return scheduler.ScheduleResult{}, err
			}
		}
		c.scored = nil
		result, err := original(ctx, profile, state, info)
		if c.samples {
			var failed error
			if totals, failed = judge(ctx, profile, info.Pod, c.found(result)); failed != nil {
				return scheduler.ScheduleResult{}, failed
			}
		}
		said := answer{
			Pod: info.Pod.Namespace + "/" + info.Pod.Name, Totals: totals, Node: result.SuggestedHost, uid: info.Pod.UID,
		}
		if err != nil {
			said.Message = err.Error()
		}
		c.answers = append(c.answers, said)
		return result, err
	}
}

// found gives the names of the nodes among which a cycle chose.
func (c *cycle) found(result scheduler.ScheduleResult) map[string]bool {
	names := map[string]bool{}
	for _, node := range c.scored {
		names[node.Node().Name] = true
	}
	if result.SuggestedHost != "" {
		names[result.SuggestedHost] = true
	}
	return names
}

// noteGivenUp adds what only the end of a failed cycle tells.
func (c *cycle) noteGivenUp(nominated string) {
	if len(c.answers) > 0 {
		c.answers[len(c.answers)-1].Nominated = nominated
	}
}

// noteClaims adds what only the end of a bind tells.
func (c *cycle) noteClaims(ctx context.Context) error {
	if len(c.answers) == 0 {
		return nil
	}
	said := &c.answers[len(c.answers)-1]
	claims, err := c.claimsOf(ctx, said.uid)
	said.Claims = claims
	return err
}

// judge runs the framework's filters on every node, or on those of these names, and its scores on every
// node that is left.
func judge(ctx context.Context, profile framework.Framework, pod *corev1.Pod,
	names map[string]bool) (map[string]int64, error) {
	totals := map[string]int64{}
	state := framework.NewCycleState()
	only, status, _ := profile.RunPreFilterPlugins(ctx, state, pod)
	if status.IsRejected() {
		return totals, nil
	}
	if !status.IsSuccess() {
		return nil, status.AsError()
	}
	nodes, err := profile.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return nil, err
	}
	var feasible []fwk.NodeInfo
	for _, node := range nodes {
		if !only.AllNodes() && !only.NodeNames.Has(node.Node().Name) {
			continue
		}
		if names != nil && !names[node.Node().Name] {
			continue
		}
		status := profile.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		if status.IsSuccess() {
			feasible = append(feasible, node)
		} else if !status.IsRejected() {
			return nil, fmt.Errorf("node %s: %w", node.Node().Name, status.AsError())
		}
	}
	if len(feasible) == 0 {
		return totals, nil
	}
	if status := profile.RunPreScorePlugins(ctx, state, pod, feasible); !status.IsSuccess() {
		return nil, status.AsError()
	}
	scores, status := profile.RunScorePlugins(ctx, state, pod, feasible)
	if !status.IsSuccess() {
		return nil, status.AsError()
	}
	for _, score := range scores {
		totals[score.Name] = score.TotalScore
	}
	return totals, nil
}

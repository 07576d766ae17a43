package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// allNodes is the percentage of nodes to score that leaves out none.
const allNodes = 100

// syncLimit is for a hundred thousand nodes and half a million pods; longer is a hang.
const syncLimit = 5 * time.Minute

// cycle is a kube-scheduler whose binds succeed at once, driven pod by pod. Its clock runs from
// when a pod left the queue until the cycle is over: the pod assumed and reserved, or given up.
type cycle struct {
	scheduler *scheduler.Scheduler
	framework framework.Framework
	client    kubernetes.Interface
	bound     chan struct{}
	gaveUp    chan failure
	pending   []string
	nodes     int

	began     time.Time
	popped    string
	tookNs    []int64
	scheduled int
	answers   []answer
	// samples says that a cycle stops once it has found enough nodes, and scored holds these.
	samples bool
	scored  []fwk.NodeInfo
}

// newCycle takes kube-scheduler's default where parallelism is 0.
func newCycle(ctx context.Context, found *world, percentage, parallelism int32) (*cycle, error) {
	settings, err := latest.Default()
	if err != nil {
		return nil, err
	}
	made := &cycle{
		bound:   make(chan struct{}, 1),
		gaveUp:  make(chan failure, 1),
		nodes:   len(found.nodes.Items),
		samples: percentage != allNodes,
	}
	if parallelism == 0 {
		parallelism = settings.Parallelism
	}
	profile := settings.Profiles[0]
	profile.PercentageOfNodesToScore = &percentage
	profile.Plugins.Bind.Disabled = []config.Plugin{{Name: names.DefaultBinder}}
	profile.Plugins.Bind.Enabled = []config.Plugin{{Name: binderName}}
	profile.Plugins.PostBind.Enabled = []config.Plugin{{Name: binderName}}
	profile.Plugins.PreScore.Enabled = []config.Plugin{{Name: scoredName}}

	client, err := newClient(found)
	if err != nil {
		return nil, err
	}
	made.client = client
	factory := scheduler.NewInformerFactory(client, 0)
	made.scheduler, err = scheduler.New(ctx, client, factory, nil,
		func(string) events.EventRecorderLogger { return &events.FakeRecorder{} },
		scheduler.WithProfiles(profile),
		scheduler.WithParallelism(parallelism),
		scheduler.WithFrameworkOutOfTreeRegistry(frameworkruntime.Registry{
			binderName: made.newBinder,
			scoredName: made.newScored,
		}),
	)
	if err != nil {
		return nil, err
	}
	made.framework = made.scheduler.Profiles[profile.SchedulerName]
	made.scheduler.NextPod = made.nextPod
	made.scheduler.FailureHandler = made.giveUp

	syncing, cancel := context.WithTimeout(ctx, syncLimit)
	defer cancel()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(syncing.Done())
	if err := made.scheduler.WaitForHandlersSync(syncing); err != nil {
		return nil, fmt.Errorf("the informers did not sync: %w", err)
	}
	if len(found.deviceClaims.Items) > 0 {
		made.queueAnew(ctx, found)
	}
	return made, made.checkWorld(found)
}

// queueAnew queues the pods in the order of the file, now that their claims are known: a pod that came
// before its claims was set aside, and would come later than it should.
func (c *cycle) queueAnew(ctx context.Context, found *world) {
	for index := range found.pods.Items {
		pod := &found.pods.Items[index]
		if pod.Spec.NodeName == "" {
			c.scheduler.SchedulingQueue.Delete(pod)
			c.scheduler.SchedulingQueue.Add(ctx, pod)
		}
	}
}

// checkWorld sees that everything arrived where the scheduler looks for it.
func (c *cycle) checkWorld(found *world) error {
	existing := 0
	for _, pod := range found.pods.Items {
		if pod.Spec.NodeName != "" {
			existing++
			continue
		}
		c.pending = append(c.pending, pod.Namespace+"/"+pod.Name)
	}
	nodes := c.scheduler.Cache.NodeCount()
	pods, err := c.scheduler.Cache.PodCount()
	if err != nil {
		return err
	}
	queued, _ := c.scheduler.SchedulingQueue.PendingPods()
	if nodes != c.nodes || pods != existing || len(queued) != len(c.pending) {
		return fmt.Errorf("the scheduler sees %d nodes, %d placed and %d pending pods, not %d, %d and %d",
			nodes, pods, len(queued), c.nodes, existing, len(c.pending))
	}
	return nil
}

// warm takes the first snapshot, which a scheduler that has run for a while has long had.
func (c *cycle) warm(ctx context.Context) error {
	snapshot, ok := c.framework.SnapshotSharedLister().(*cache.Snapshot)
	if !ok {
		return errors.New("the framework's snapshot is of another kind")
	}
	return c.scheduler.Cache.UpdateSnapshot(klog.FromContext(ctx), snapshot)
}

// one runs a cycle and waits, outside of the time, until its bind is over.
func (c *cycle) one(ctx context.Context) (time.Duration, error) {
	c.scheduler.ScheduleOne(ctx)
	ended := time.Now()
	if expected := c.pending[len(c.tookNs)]; c.popped != expected {
		return 0, fmt.Errorf("the queue gave %s, %s was next", c.popped, expected)
	}
	select {
	case <-c.bound:
		c.scheduled++
		if err := c.noteClaims(ctx); err != nil {
			return 0, err
		}
	case failed := <-c.gaveUp:
		if failed.err != nil {
			return 0, fmt.Errorf("%s: %w", c.popped, failed.err)
		}
		ended = failed.at
		c.noteGivenUp(failed.nominated)
	}
	took := ended.Sub(c.began)
	c.tookNs = append(c.tookNs, took.Nanoseconds())
	return took, nil
}

func (c *cycle) nextPod(logger klog.Logger) (*framework.QueuedPodInfo, error) {
	info, err := c.scheduler.SchedulingQueue.Pop(logger)
	if err == nil && info != nil {
		c.popped = info.Pod.Namespace + "/" + info.Pod.Name
	}
	c.began = time.Now()
	return info, err
}

// failure is how a cycle ended that did not place its pod. err is set where that is not because no
// node fits.
type failure struct {
	at        time.Time
	nominated string
	err       error
}

// giveUp stands in for writing the pod's condition and event and for queueing it again. What the
// next cycle must know, that a node is kept for the pod, it tells the queue as the original does.
func (c *cycle) giveUp(ctx context.Context, _ framework.Framework, info *framework.QueuedPodInfo,
	status *fwk.Status, nominating *fwk.NominatingInfo, _ time.Time) {
	failed := failure{at: time.Now()}
	if !status.IsRejected() {
		failed.err = status.AsError()
	}
	if nominating != nil && nominating.NominatedNodeName != "" {
		failed.nominated = nominating.NominatedNodeName
		c.scheduler.SchedulingQueue.AddNominatedPod(klog.FromContext(ctx), info.PodInfo, nominating)
	}
	c.scheduler.SchedulingQueue.Done(info.Pod.UID)
	c.gaveUp <- failed
}

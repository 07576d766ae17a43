// Command kubescheduler runs kube-scheduler's own scheduling cycle over a world read from a file:
// the real framework, cache, queue and default plugins, and no API server.
//
// It prints one JSON document. With -answers that is what the cycle found out about each pod;
// without, how long each cycle took.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"k8s.io/klog/v2"
)

// report is what one run prints. Fields that do not apply are left out.
type report struct {
	Go         string   `json:"go"`
	Processors int      `json:"processors"`
	Nodes      int      `json:"nodes"`
	Pending    int      `json:"pending"`
	Scheduled  int      `json:"scheduled"`
	CycleNs    []int64  `json:"cycleNs,omitempty"`
	CpuNs      int64    `json:"cpuNs,omitempty"`
	Answers    []answer `json:"answers,omitempty"`
}

func main() {
	world := flag.String("world", "", "`FILE` with a Kubernetes List: nodes, pods, volumes, devices")
	percentage := flag.Int("percentage", 0, "percentageOfNodesToScore; 0 is kube-scheduler's default, 100 all nodes")
	parallelism := flag.Int("parallelism", 0, "so many nodes are filtered at a time; 0 is kube-scheduler's default")
	budget := flag.Duration("budget", 0, "stop once the cycles took that long together; 0 for no limit")
	answers := flag.Bool("answers", false, "print what each cycle found out instead of how long it took")
	flag.Parse()
	if err := run(*world, int32(*percentage), int32(*parallelism), *budget, *answers); err != nil {
		fmt.Fprintf(os.Stderr, "kubescheduler: %v\n", err)
		os.Exit(1)
	}
}

func run(path string, percentage, parallelism int32, budget time.Duration, wantsAnswers bool) error {
	found, err := readWorld(path)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Background()))
	defer cancel()
	cycle, err := newCycle(ctx, found, percentage, parallelism)
	if err != nil {
		return err
	}
	if wantsAnswers {
		cycle.noteAnswers()
	}
	if err := cycle.warm(ctx); err != nil {
		return err
	}
	runtime.GC() // what reading left behind is not the cycle's to collect
	began := cpuNs()
	var spent time.Duration
	for range cycle.pending {
		took, err := cycle.one(ctx)
		if err != nil {
			return err
		}
		spent += took
		if budget > 0 && spent > budget {
			break
		}
	}
	said := report{
		Go:         runtime.Version(),
		Processors: runtime.GOMAXPROCS(0),
		Nodes:      cycle.nodes,
		Pending:    len(cycle.pending),
		Scheduled:  cycle.scheduled,
		Answers:    cycle.answers,
	}
	if !wantsAnswers {
		said.CycleNs, said.CpuNs = cycle.tookNs, cpuNs()-began
	}
	return json.NewEncoder(os.Stdout).Encode(said)
}

// cpuNs is the processor time of all threads so far.
func cpuNs() int64 {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

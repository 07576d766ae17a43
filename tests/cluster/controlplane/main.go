// Command controlplane is a Kubernetes control plane in one binary, for tests: every component is
// a sub-command that takes exactly the flags of the program it is named after.
//
// Only the component that is asked for is constructed. Constructors register feature gates and
// metrics in process-wide registries, so two of them must not meet in one process.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client-go's metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // kubernetes_build_info
	"k8s.io/component-base/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// components maps a sub-command to what runs it; each is given os.Args without the program's name
// (so its own name comes first) and returns an exit code.
var components = map[string]func(arguments []string) int{
	"etcd": func(arguments []string) int {
		etcdmain.Main(arguments)
		return 0
	},
	"kube-apiserver": func(arguments []string) int {
		return cli.Run(as(apiserver.NewAPIServerCommand(), arguments))
	},
	"kube-controller-manager": func(arguments []string) int {
		return cli.Run(as(controllermanager.NewControllerManagerCommand(), arguments))
	},
	"kube-scheduler": func(arguments []string) int {
		return cli.Run(as(scheduler.NewSchedulerCommand(), arguments))
	},
	"kubectl": func(arguments []string) int {
		// kubectl reads os.Args itself, so "controlplane kubectl get" becomes "kubectl get".
		os.Args = arguments
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			kubectlutil.CheckErr(err)
		}
		return 0
	},
	"pki": writePKI,
	"version": func([]string) int {
		fmt.Println(version.Get().GitVersion)
		return 0
	},
}

// as makes a component's command parse the arguments that follow the sub-command's name.
func as(command *cobra.Command, arguments []string) *cobra.Command {
	os.Args = arguments // the API server logs and re-reads them
	command.SetArgs(arguments[1:])
	return command
}

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	run, known := components[os.Args[1]]
	if !known {
		usage()
	}
	holdLifeline()
	os.Exit(run(os.Args[1:]))
}

func usage() {
	names := make([]string, 0, len(components))
	for name := range components {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Fprintf(os.Stderr, "usage: controlplane %s [arguments of that component]\n", strings.Join(names, "|"))
	os.Exit(2)
}

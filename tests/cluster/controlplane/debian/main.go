//go:build ignore

// The control plane from Debian's source of Kubernetes 1.20, for machines without a module proxy:
// the same sub-commands as ../main.go, with the etcd that Kubernetes vendors for its own tests.
//
// Built by tests/cluster/debian.py inside that source tree (GOPATH mode, Go 1.19), together with
// ../lifeline.go and ../pki.go. The module beside it never sees this file.
package main

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/embed"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/component-base/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: controlplane COMPONENT [arguments of that component]")
		os.Exit(2)
	}
	holdLifeline()
	component := os.Args[1]
	os.Args = os.Args[1:]
	switch component {
	case "etcd":
		os.Exit(runEtcd(os.Args[1:]))
	case "kube-apiserver":
		run(apiserver.NewAPIServerCommand())
	case "kube-controller-manager":
		run(controllermanager.NewControllerManagerCommand())
	case "kube-scheduler":
		run(scheduler.NewSchedulerCommand())
	case "kubectl":
		run(kubectl.NewDefaultKubectlCommand())
	case "pki":
		os.Exit(writePKI(os.Args))
	case "version":
		fmt.Println(version.Get().GitVersion)
	default:
		fmt.Fprintf(os.Stderr, "controlplane: no component %q\n", component)
		os.Exit(2)
	}
}

func run(command *cobra.Command) {
	logs.InitLogs()
	defer logs.FlushLogs()
	if err := command.Execute(); err != nil {
		os.Exit(1)
	}
}

// runEtcd takes the flags of etcd that the harness uses. etcd's own main is not vendored.
func runEtcd(arguments []string) int {
	config := embed.NewConfig()
	config.Logger = "zap"
	flags := flag.NewFlagSet("etcd", flag.ExitOnError)
	flags.StringVar(&config.Dir, "data-dir", "", "")
	flags.StringVar(&config.InitialCluster, "initial-cluster", "", "")
	flags.StringVar(&config.LogLevel, "log-level", "warn", "")
	flags.BoolVar(&config.UnsafeNoFsync, "unsafe-no-fsync", false, "")
	for name, target := range map[string]*[]url.URL{
		"listen-client-urls":          &config.LCUrls,
		"advertise-client-urls":       &config.ACUrls,
		"listen-peer-urls":            &config.LPUrls,
		"initial-advertise-peer-urls": &config.APUrls,
	} {
		target := target
		flags.Func(name, "", func(text string) error {
			parsed, err := url.Parse(text)
			if err == nil {
				*target = []url.URL{*parsed}
			}
			return err
		})
	}
	_ = flags.Parse(arguments) // ExitOnError
	server, err := embed.StartEtcd(config)
	if err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		return 1
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	select {
	case <-ended:
		server.Close()
		return 0
	case err := <-server.Err():
		fmt.Fprintln(os.Stderr, "etcd:", err)
		return 1
	}
}

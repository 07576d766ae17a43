// Helm, as the tests of the chart call it: its own command, and nothing beside it.
package main

import (
	"log/slog"
	"os"

	"helm.sh/helm/v4/pkg/cmd"
)

func main() {
	root, err := cmd.NewRootCmd(os.Stdout, os.Args[1:], cmd.SetupLogging)
	if err != nil {
		slog.Error("helm cannot begin", slog.Any("error", err))
		os.Exit(1)
	}
	if root.Execute() != nil {
		os.Exit(1)
	}
}

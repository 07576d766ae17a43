// Karpenter's own filter of pods: those for which its provisioner may make nodes.
//
// Reads pods as JSON from stdin, one on each line. For each it prints `provisionable` or `left`.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/utils/pod"
)

func main() {
	if err := answer(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answer(input io.Reader, output io.Writer) error {
	pods, words := json.NewDecoder(input), bufio.NewWriter(output)
	for {
		var candidate corev1.Pod
		if err := pods.Decode(&candidate); errors.Is(err, io.EOF) {
			return words.Flush()
		} else if err != nil {
			return err
		}
		word := "left"
		if pod.IsProvisionable(&candidate) {
			word = "provisionable"
		}
		if _, err := fmt.Fprintln(words, word); err != nil {
			return err
		}
	}
}

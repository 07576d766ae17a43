// Evaluates expressions in the CEL environment of Kubernetes, for the tests that compare kpolicy
// with it.
//
// Reads lines {"library", "expr", "types": {name: type}, "rows": [{name: value}, …]} and writes a
// line for each: a list with {"value": …} or {"error": text} for each row, or {"refused": text} if
// the expression does not compile. Values have the JSON form of docs/internals/expressions.md.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	_ "time/tzdata" // for machines that have no zones

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
)

type request struct {
	Library    string                       `json:"library"`
	Expression string                       `json:"expr"`
	Types      map[string]string            `json:"types"`
	Rows       []map[string]json.RawMessage `json:"rows"`
}

// Of 1.36: every library that its API server has for new expressions.
var own = environment.MustBaseEnvSet(version.MajorMinor(1, 36)).NewExpressionsEnv()

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve() error {
	libraries, err := environments()
	if err != nil {
		return err
	}
	input := bufio.NewReader(os.Stdin)
	lines := json.NewDecoder(input)
	lines.UseNumber()
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	answers := json.NewEncoder(output)
	answers.SetEscapeHTML(false)
	for lines.More() {
		var asked request
		if err := lines.Decode(&asked); err != nil {
			return err
		}
		answer, err := answered(libraries[asked.Library], &asked)
		if err != nil {
			return fmt.Errorf("%s: %w", asked.Expression, err)
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return nil
}

// environments has Kubernetes' own environment; the same with libraries of cel-go that Kubernetes
// leaves out and kpolicy has; and cel-go's newest string library, for what Kubernetes' is too old
// for. cel-go refuses two versions of one library in an environment.
func environments() (map[string]*cel.Env, error) {
	more, err := own.Extend(ext.Math(), ext.Encoders(), ext.Bindings())
	if err != nil {
		return nil, err
	}
	texts, err := cel.NewEnv(ext.Strings())
	if err != nil {
		return nil, err
	}
	return map[string]*cel.Env{"kubernetes": own, "cel-go": more, "newest strings": texts}, nil
}

func answered(library *cel.Env, asked *request) (any, error) {
	program, refused, err := compiled(library, asked)
	if err != nil {
		return nil, err
	}
	if refused != "" {
		return map[string]string{"refused": refused}, nil
	}
	answers := make([]any, 0, len(asked.Rows))
	for _, row := range asked.Rows {
		variables := make(map[string]any, len(row))
		for name, text := range row {
			if variables[name], err = read(text); err != nil {
				return nil, err
			}
		}
		answers = append(answers, outcome(program, variables))
	}
	return answers, nil
}

func compiled(library *cel.Env, asked *request) (cel.Program, string, error) {
	options := make([]cel.EnvOption, 0, len(asked.Types))
	for name, text := range asked.Types {
		kind, err := parsed(text)
		if err != nil {
			return nil, "", err
		}
		options = append(options, cel.Variable(name, kind))
	}
	env, err := library.Extend(options...)
	if err != nil {
		return nil, "", err
	}
	checked, issues := env.Compile(asked.Expression)
	if issues.Err() != nil {
		return nil, issues.Err().Error(), nil
	}
	program, err := env.Program(checked)
	if err != nil {
		// A constant pattern or time is read when the program is planned.
		return nil, err.Error(), nil
	}
	return program, "", nil
}

func outcome(program cel.Program, variables map[string]any) (answer map[string]any) {
	value, _, err := program.Eval(variables)
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	return map[string]any{"value": shown(value.(ref.Val))}
}

package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/library"
)

var named = map[string]*cel.Type{
	"dyn":       cel.DynType,
	"null":      cel.NullType,
	"bool":      cel.BoolType,
	"int":       cel.IntType,
	"uint":      cel.UintType,
	"double":    cel.DoubleType,
	"string":    cel.StringType,
	"bytes":     cel.BytesType,
	"timestamp": cel.TimestampType,
	"duration":  cel.DurationType,
	"type":      cel.TypeType,
	"quantity":  apiservercel.QuantityType,
	"ip":        apiservercel.IPType,
	"cidr":      apiservercel.CIDRType,
	"url":       apiservercel.URLType,
	"semver":    apiservercel.SemverType,
	"format":    apiservercel.FormatType,
}

// parsed reads `map(string, list(int))`.
func parsed(text string) (*cel.Type, error) {
	head, inner, isGeneric := strings.Cut(strings.TrimSpace(text), "(")
	if !isGeneric {
		if kind, ok := named[head]; ok {
			return kind, nil
		}
		return nil, fmt.Errorf("`%s` is no type", text)
	}
	inner = strings.TrimSuffix(inner, ")")
	first, second, isPair := strings.Cut(inner, ",")
	if head != "map" {
		first, isPair = inner, false
	}
	parameters := make([]*cel.Type, 0, 2)
	for _, part := range map[bool][]string{true: {first, second}, false: {first}}[isPair] {
		kind, err := parsed(part)
		if err != nil {
			return nil, err
		}
		parameters = append(parameters, kind)
	}
	switch {
	case head == "list":
		return cel.ListType(parameters[0]), nil
	case head == "optional":
		return cel.OptionalType(parameters[0]), nil
	case head == "map" && isPair:
		return cel.MapType(parameters[0], parameters[1]), nil
	}
	return nil, fmt.Errorf("`%s` is no type", text)
}

// constructors make the values of Kubernetes' own types, by tag.
var constructors = map[string]cel.Program{
	"quantity": constructor("quantity(x)"),
	"ip":       constructor("ip(x)"),
	"cidr":     constructor("cidr(x)"),
	"url":      constructor("url(x)"),
	"semver":   constructor("semver(x)"),
	"format":   constructor("format.named(x).value()"),
}

func constructor(expression string) cel.Program {
	env, err := own.Extend(cel.Variable("x", cel.StringType))
	if err != nil {
		panic(err)
	}
	checked, issues := env.Compile(expression)
	if issues.Err() != nil {
		panic(issues.Err())
	}
	program, err := env.Program(checked)
	if err != nil {
		panic(err)
	}
	return program
}

// read makes a value of its JSON form.
func read(text json.RawMessage) (ref.Val, error) {
	trimmed := strings.TrimSpace(string(text))
	switch {
	case trimmed == "null":
		return types.NullValue, nil
	case trimmed == "true", trimmed == "false":
		return types.Bool(trimmed == "true"), nil
	case strings.HasPrefix(trimmed, `"`):
		var value string
		err := json.Unmarshal(text, &value)
		return types.String(value), err
	case strings.HasPrefix(trimmed, "["):
		var items []json.RawMessage
		if err := json.Unmarshal(text, &items); err != nil {
			return nil, err
		}
		values, err := readAll(items)
		return types.NewRefValList(types.DefaultTypeAdapter, values), err
	case strings.HasPrefix(trimmed, "{"):
		var tagged map[string]json.RawMessage
		if err := json.Unmarshal(text, &tagged); err != nil {
			return nil, err
		}
		for tag, body := range tagged {
			return readTagged(tag, body)
		}
		return nil, fmt.Errorf("%s has no tag", trimmed)
	}
	value, err := strconv.ParseInt(trimmed, 10, 64)
	return types.Int(value), err
}

func readAll(items []json.RawMessage) ([]ref.Val, error) {
	values := make([]ref.Val, 0, len(items))
	for _, item := range items {
		value, err := read(item)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

func readTagged(tag string, body json.RawMessage) (ref.Val, error) {
	text := string(body)
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(body, &text); err != nil {
			return nil, err
		}
	}
	switch tag {
	case "uint":
		value, err := strconv.ParseUint(text, 10, 64)
		return types.Uint(value), err
	case "double":
		value, err := strconv.ParseFloat(text, 64)
		return types.Double(value), err
	case "bytes":
		value, err := base64.StdEncoding.DecodeString(text)
		return types.Bytes(value), err
	case "timestamp":
		value, err := time.Parse(time.RFC3339Nano, text)
		return types.Timestamp{Time: value}, err
	case "duration":
		value, err := time.ParseDuration(text)
		return types.Duration{Duration: value}, err
	case "optional":
		var items []json.RawMessage
		if err := json.Unmarshal(body, &items); err != nil || len(items) == 0 {
			return types.OptionalNone, err
		}
		value, err := read(items[0])
		return types.OptionalOf(value), err
	case "map":
		var pairs [][]json.RawMessage
		if err := json.Unmarshal(body, &pairs); err != nil {
			return nil, err
		}
		entries := make(map[ref.Val]ref.Val, len(pairs))
		for _, pair := range pairs {
			values, err := readAll(pair)
			if err != nil {
				return nil, err
			}
			entries[values[0]] = values[1]
		}
		return types.NewRefValMap(types.DefaultTypeAdapter, entries), nil
	}
	if program, ok := constructors[tag]; ok {
		value, _, err := program.Eval(map[string]any{"x": text})
		return value, err
	}
	return nil, fmt.Errorf("`%s` is no tag of a variable", tag)
}

// shown is the JSON form of a value.
func shown(value ref.Val) any {
	switch value := value.(type) {
	case types.Null:
		return nil
	case types.Bool:
		return bool(value)
	case types.Int:
		return int64(value)
	case types.String:
		return string(value)
	case types.Uint:
		return tagged("uint", uint64(value))
	case types.Double:
		return tagged("double", doubleText(float64(value)))
	case types.Bytes:
		return tagged("bytes", base64.StdEncoding.EncodeToString(value))
	case types.Timestamp:
		return tagged("timestamp", value.UTC().Format("2006-01-02T15:04:05.999999999Z07:00"))
	case types.Duration:
		return tagged("duration", durationText(value.Duration))
	case *types.Type:
		return tagged("type", value.TypeName())
	case *types.Optional:
		if !value.HasValue() {
			return tagged("optional", []any{})
		}
		return tagged("optional", []any{shown(value.GetValue())})
	case apiservercel.Quantity:
		return tagged("quantity", decimal(value))
	case *apiservercel.Quantity:
		return tagged("quantity", decimal(*value))
	case apiservercel.IP:
		return tagged("ip", value.Addr.String())
	case apiservercel.CIDR:
		return tagged("cidr", value.Prefix.String())
	case apiservercel.URL:
		return tagged("url", value.URL.String())
	case apiservercel.Semver:
		return tagged("semver", value.Version.String())
	case apiservercel.Format:
		return tagged("format", formatName(value))
	case traits.Mapper:
		pairs := []any{}
		for keys := value.Iterator(); keys.HasNext() == types.True; {
			key := keys.Next()
			pairs = append(pairs, []any{shown(key), shown(value.Get(key))})
		}
		return tagged("map", pairs)
	case traits.Lister:
		items := []any{}
		for each := value.Iterator(); each.HasNext() == types.True; {
			items = append(items, shown(each.Next()))
		}
		return items
	}
	return tagged("object", value.Type().TypeName())
}

// decimal is the amount. Expressions cannot read how a quantity was written.
func decimal(value apiservercel.Quantity) string {
	copied := value.DeepCopy()
	text := copied.AsDec().String()
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// formatName is what `format.named` takes.
func formatName(value apiservercel.Format) string {
	for name, format := range library.ConstantFormats {
		if format.Name == value.Name {
			return name
		}
	}
	return value.Name
}

func tagged(tag string, body any) any {
	return map[string]any{tag: body}
}

func doubleText(value float64) string {
	switch {
	case math.IsNaN(value):
		return "NaN"
	case math.IsInf(value, 0):
		return map[bool]string{true: "Infinity", false: "-Infinity"}[value > 0]
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}

// durationText is protobuf's form, exact: seconds with up to nine decimal places.
func durationText(value time.Duration) string {
	sign, nanos := "", uint64(value)
	if value < 0 {
		sign, nanos = "-", -nanos
	}
	fraction := ""
	if nanos%1e9 != 0 {
		fraction = strings.TrimRight(fmt.Sprintf(".%09d", nanos%1e9), "0")
	}
	return fmt.Sprintf("%s%d%ss", sign, nanos/1e9, fraction)
}

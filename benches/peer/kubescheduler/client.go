package main

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// newClient answers lists with the world, in its order; watches tell only of claims on devices, and
// whatever else is asked for succeeds without effect. Evicted pods therefore stay where they are,
// as on a cluster that is slow to end them.
func newClient(found *world) (*fake.Clientset, error) {
	client := fake.NewSimpleClientset()
	lists := map[string]runtime.Object{
		"nodes":                  &found.nodes,
		"pods":                   &found.pods,
		"namespaces":             &found.namespaces,
		"persistentvolumes":      &found.volumes,
		"persistentvolumeclaims": &found.claims,
		"storageclasses":         &found.storageClasses,
		"deviceclasses":          &found.deviceClasses,
		"resourceslices":         &found.deviceSlices,
	}
	for resource, list := range lists {
		setResourceVersions(list)
		client.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, list, nil
		})
	}
	for _, verb := range []string{"delete", "patch", "update"} {
		client.PrependReactor(verb, "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, nil
		})
	}
	return client, keepClaims(client, &found.deviceClaims)
}

// setResourceVersions gives every object one, as an API server would; informers and caches of
// volumes compare them.
func setResourceVersions(list runtime.Object) {
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err == nil {
			object.SetResourceVersion("1")
		}
		return err
	})
}

package main

import (
	"encoding/json"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// world is what the scheduler's informers list, each kind in the order of the file.
type world struct {
	nodes          corev1.NodeList
	pods           corev1.PodList
	namespaces     corev1.NamespaceList
	volumes        corev1.PersistentVolumeList
	claims         corev1.PersistentVolumeClaimList
	storageClasses storagev1.StorageClassList
	deviceClasses  resourcev1.DeviceClassList
	deviceSlices   resourcev1.ResourceSliceList
	deviceClaims   resourcev1.ResourceClaimList
}

// readWorld reads a Kubernetes List in JSON. A kind that it does not know is an error: leaving it
// out would ask the two schedulers different questions.
func readWorld(path string) (*world, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if list.Kind != "List" {
		return nil, fmt.Errorf("%s: kind is %q, not List", path, list.Kind)
	}
	found := &world{}
	for index, item := range list.Items {
		if err := found.add(item); err != nil {
			return nil, fmt.Errorf("%s: item %d: %w", path, index, err)
		}
	}
	return found, nil
}

func (w *world) add(item json.RawMessage) error {
	var kind struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(item, &kind); err != nil {
		return err
	}
	switch kind.Kind {
	case "Node":
		return appendItem(&w.nodes.Items, item)
	case "Pod":
		return appendItem(&w.pods.Items, item)
	case "Namespace":
		return appendItem(&w.namespaces.Items, item)
	case "PersistentVolume":
		return appendItem(&w.volumes.Items, item)
	case "PersistentVolumeClaim":
		return appendItem(&w.claims.Items, item)
	case "StorageClass":
		return appendItem(&w.storageClasses.Items, item)
	case "DeviceClass":
		return appendItem(&w.deviceClasses.Items, item)
	case "ResourceSlice":
		return appendItem(&w.deviceSlices.Items, item)
	case "ResourceClaim":
		return appendItem(&w.deviceClaims.Items, item)
	}
	return fmt.Errorf("unknown kind %q", kind.Kind)
}

func appendItem[T any](items *[]T, text json.RawMessage) error {
	var item T
	if err := json.Unmarshal(text, &item); err != nil {
		return err
	}
	*items = append(*items, item)
	return nil
}

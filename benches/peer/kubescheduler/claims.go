package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

const claimsResource = "resourceclaims"

// heardWithin is how long the informer takes to hear of a claim that was made. The plugin looks for it
// when the answer comes, and then only once a second.
const heardWithin = 20 * time.Millisecond

// keepClaims lets the client keep claims on devices as an API server does: what is written gets a new
// version, watches tell of it, and a claim that the scheduler makes gets a name.
func keepClaims(client *fake.Clientset, claims *resourcev1.ResourceClaimList) error {
	setResourceVersions(claims)
	for index := range claims.Items {
		if err := client.Tracker().Add(&claims.Items[index]); err != nil {
			return err
		}
	}
	// One call after the other comes here.
	version := 1
	written := func(object runtime.Object) (metav1.Object, error) {
		changed, err := meta.Accessor(object)
		if err == nil {
			version++
			changed.SetResourceVersion(strconv.Itoa(version))
		}
		return changed, err
	}
	client.PrependReactor("update", claimsResource,
		func(action clienttesting.Action) (bool, runtime.Object, error) {
			_, err := written(action.(clienttesting.UpdateAction).GetObject())
			return err != nil, nil, err
		})
	client.PrependReactor("create", claimsResource,
		func(action clienttesting.Action) (bool, runtime.Object, error) {
			object := action.(clienttesting.CreateAction).GetObject()
			made, err := written(object)
			if err != nil {
				return true, nil, err
			}
			made.SetName(fmt.Sprintf("%s%d", made.GetGenerateName(), version))
			made.SetUID(types.UID(made.GetName()))
			err = client.Tracker().Create(action.GetResource(), object, action.GetNamespace())
			time.Sleep(heardWithin)
			return true, object, err
		})
	return nil
}

// claimsOf lists the claims that are reserved for a pod, as they are written.
func (c *cycle) claimsOf(ctx context.Context, pod types.UID) ([]resourcev1.ResourceClaim, error) {
	list, err := c.client.ResourceV1().ResourceClaims(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	isOfPod := func(user resourcev1.ResourceClaimConsumerReference) bool { return user.UID == pod }
	var own []resourcev1.ResourceClaim
	for _, claim := range list.Items {
		if slices.ContainsFunc(claim.Status.ReservedFor, isOfPod) {
			claim.APIVersion, claim.Kind = resourcev1.SchemeGroupVersion.String(), "ResourceClaim"
			claim.ManagedFields = nil
			own = append(own, claim)
		}
	}
	return own, nil
}

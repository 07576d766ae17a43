//! How long it takes to read a list of pods: `cargo run --release -p kpolicy-codec --example decode
//! -- [PODS] [pods|file|watch|yaml] [KEPT]`. Prints one line. `KEPT` objects are held at a time, as
//! by a reader that takes them in batches.

#![allow(clippy::expect_used, clippy::panic, reason = "a tool for developers may end with a panic")]

use std::time::Instant;

use kpolicy_codec::{Keep, file, list, watch};
use kpolicy_engine::model::Kind;

const PODS_DEFAULT: usize = 20_000;
const KEPT_DEFAULT: usize = 64;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let pods = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(PODS_DEFAULT);
    let form = arguments.next().unwrap_or_else(|| "pods".to_owned());
    let kept_max = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(KEPT_DEFAULT);
    let body = body(&form, pods);
    let started = Instant::now();
    let mut kept = Vec::with_capacity(kept_max);
    let mut read = 0;
    let mut keep = |event| {
        read += 1;
        kept.push(event);
        if kept.len() == kept_max {
            kept.clear();
        }
    };
    let unreadable = match form.as_str() {
        "file" | "yaml" => file::objects(body.as_bytes(), Keep(None), &mut keep),
        "watch" => watch::lines(body.as_bytes(), Kind::Pod, Keep(None), &mut keep).unreadable,
        _ => list::page(body.as_bytes(), Kind::Pod, Keep(None), &mut keep).unreadable,
    };
    let elapsed = started.elapsed();
    assert!(unreadable.is_empty() && read == pods, "every pod is read");
    let count = u128::try_from(pods.max(1)).expect("a count fits");
    println!(
        "{form}: {pods} pods of {} bytes in {} ms: {} ns a pod",
        body.len() / pods.max(1),
        elapsed.as_millis(),
        elapsed.as_nanos() / count,
    );
}

fn body(form: &str, pods: usize) -> String {
    let items = (0..pods).map(|number| pod(number, form));
    match form {
        "file" => {
            let items: Vec<String> = items.collect();
            format!(
                r#"{{"apiVersion":"v1","items":[{}],"kind":"List","metadata":{{}}}}"#,
                items.join(",")
            )
        }
        // Flow style behind a document mark: the YAML that is JSON.
        "yaml" => items.map(|pod| "---\n".to_owned() + &pod + "\n").collect(),
        "watch" => {
            items.map(|pod| format!(r#"{{"type":"ADDED","object":{pod}}}"#) + "\n").collect()
        }
        _ => {
            let items: Vec<String> = items.collect();
            format!(
                r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"1"}},"items":[{}]}}"#,
                items.join(",")
            )
        }
    }
}

/// A pod of a deployment as an API server serves it: about 3 KB, most of it never read.
fn pod(number: usize, form: &str) -> String {
    let header =
        if matches!(form, "file" | "yaml") { r#""apiVersion":"v1","kind":"Pod","# } else { "" };
    let app = number % 50;
    let node = number % 5_000;
    format!(
        r#"{{{header}"metadata":{{"name":"app-{app}-6d4cf56db6-{number:05}","generateName":"app-{app}-6d4cf56db6-","namespace":"team-{team}","uid":"3f1c2a9e-0000-4000-8000-{number:012}","resourceVersion":"{number}","creationTimestamp":"2026-03-01T12:00:00Z","labels":{{"app":"app-{app}","app.kubernetes.io/name":"app-{app}","pod-template-hash":"6d4cf56db6","tier":"backend"}},"annotations":{{"prometheus.io/scrape":"true","prometheus.io/port":"9090"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"app-{app}-6d4cf56db6","uid":"9f1c2a9e-0000-4000-8000-{app:012}","controller":true,"blockOwnerDeletion":true}}],"managedFields":[{{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-03-01T12:00:00Z","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{"f:generateName":{{}},"f:labels":{{".":{{}},"f:app":{{}},"f:pod-template-hash":{{}}}},"f:ownerReferences":{{".":{{}},"k:{{\"uid\":\"9f1c2a9e\"}}":{{}}}}}},"f:spec":{{"f:containers":{{"k:{{\"name\":\"main\"}}":{{".":{{}},"f:image":{{}},"f:imagePullPolicy":{{}},"f:name":{{}},"f:resources":{{".":{{}},"f:requests":{{".":{{}},"f:cpu":{{}},"f:memory":{{}}}}}},"f:terminationMessagePath":{{}},"f:terminationMessagePolicy":{{}}}}}},"f:dnsPolicy":{{}},"f:enableServiceLinks":{{}},"f:restartPolicy":{{}},"f:schedulerName":{{}},"f:securityContext":{{}},"f:terminationGracePeriodSeconds":{{}}}}}}}}]}},"spec":{{"volumes":[{{"name":"kube-api-access-abcde","projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}},{{"configMap":{{"name":"kube-root-ca.crt","items":[{{"key":"ca.crt","path":"ca.crt"}}]}}}}],"defaultMode":420}}}}],"containers":[{{"name":"main","image":"registry.example.com/team/app-{app}:v1.2.3","env":[{{"name":"POD_NAME","valueFrom":{{"fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.name"}}}}}},{{"name":"LOG_LEVEL","value":"info"}}],"ports":[{{"containerPort":8080,"protocol":"TCP"}}],"resources":{{"limits":{{"memory":"512Mi"}},"requests":{{"cpu":"100m","memory":"256Mi"}}}},"volumeMounts":[{{"name":"kube-api-access-abcde","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}],"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","serviceAccount":"default","nodeName":"node-{node:05}","securityContext":{{}},"schedulerName":"default-scheduler","tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}},{{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"}},"status":{{"phase":"Running","conditions":[{{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-03-01T12:00:05Z"}},{{"type":"PodScheduled","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-03-01T12:00:01Z"}}],"hostIP":"10.0.0.1","podIP":"10.1.0.1","podIPs":[{{"ip":"10.1.0.1"}}],"startTime":"2026-03-01T12:00:01Z","containerStatuses":[{{"name":"main","state":{{"running":{{"startedAt":"2026-03-01T12:00:04Z"}}}},"lastState":{{}},"ready":true,"restartCount":0,"image":"registry.example.com/team/app-{app}:v1.2.3","imageID":"registry.example.com/team/app-{app}@sha256:0000000000000000000000000000000000000000000000000000000000000000","containerID":"containerd://0000000000000000000000000000000000000000000000000000000000000000","started":true}}],"qosClass":"Burstable"}}}}"#,
        team = number % 20,
    )
}

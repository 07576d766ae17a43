"""Fields of Pod, Node and Namespace. Made by build/cel_api_schema.py; not for editing."""

RELEASE = "1.36.2"

# A type a line, its fields behind it; a line that begins with a space goes on.
TYPES = """\
AWSElasticBlockStoreVolumeSource fsType:s partition:i readOnly:b volumeID:s
Affinity nodeAffinity:NodeAffinity podAffinity:PodAffinity podAntiAffinity:PodAntiAffinity
AppArmorProfile localhostProfile:s type:s
AzureDiskVolumeSource cachingMode:s diskName:s diskURI:s fsType:s kind:s readOnly:b
AzureFileVolumeSource readOnly:b secretName:s shareName:s
CSIVolumeSource driver:s fsType:s nodePublishSecretRef:LocalObjectReference readOnly:b
 volumeAttributes:{s
Capabilities add:[s drop:[s
CephFSVolumeSource monitors:[s path:s readOnly:b secretFile:s secretRef:LocalObjectReference
 user:s
CinderVolumeSource fsType:s readOnly:b secretRef:LocalObjectReference volumeID:s
ConfigMapVolumeSource defaultMode:i items:[KeyToPath name:s optional:b
Container image:s imagePullPolicy:s name:s ports:[ContainerPort
 resizePolicy:[ContainerResizePolicy resources:ResourceRequirements restartPolicy:s
 restartPolicyRules:[ContainerRestartRule securityContext:SecurityContext stdin:b stdinOnce:b
 terminationMessagePath:s terminationMessagePolicy:s tty:b volumeDevices:[VolumeDevice
 volumeMounts:[VolumeMount workingDir:s
ContainerPort containerPort:i hostIP:s hostPort:i name:s protocol:s
ContainerResizePolicy resourceName:s restartPolicy:s
ContainerRestartRule action:s exitCodes:ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes operator:s values:[i
DaemonEndpoint Port:i
EmptyDirVolumeSource medium:s sizeLimit:q
FCVolumeSource fsType:s lun:i readOnly:b targetWWNs:[s wwids:[s
FlexVolumeSource driver:s fsType:s options:{s readOnly:b secretRef:LocalObjectReference
FlockerVolumeSource datasetName:s datasetUUID:s
GCEPersistentDiskVolumeSource fsType:s partition:i pdName:s readOnly:b
GitRepoVolumeSource directory:s repository:s revision:s
GlusterfsVolumeSource endpoints:s path:s readOnly:b
HostAlias hostnames:[s ip:s
HostIP ip:s
HostPathVolumeSource path:s type:s
ISCSIVolumeSource chapAuthDiscovery:b chapAuthSession:b fsType:s initiatorName:s iqn:s
 iscsiInterface:s lun:i portals:[s readOnly:b secretRef:LocalObjectReference targetPortal:s
ImageVolumeSource pullPolicy:s reference:s
KeyToPath key:s mode:i path:s
LabelSelector matchExpressions:[LabelSelectorRequirement matchLabels:{s
LabelSelectorRequirement key:s operator:s values:[s
LocalObjectReference name:s
NFSVolumeSource path:s readOnly:b server:s
Namespace metadata:ObjectMeta spec:NamespaceSpec status:NamespaceStatus
NamespaceCondition lastTransitionTime:t message:s reason:s status:s type:s
NamespaceSpec finalizers:[s
NamespaceStatus conditions:[NamespaceCondition phase:s
Node metadata:ObjectMeta spec:NodeSpec status:NodeStatus
NodeAddress address:s type:s
NodeAffinity preferredDuringSchedulingIgnoredDuringExecution:[PreferredSchedulingTerm
 requiredDuringSchedulingIgnoredDuringExecution:NodeSelector
NodeCondition lastTransitionTime:t message:s reason:s status:s type:s
NodeDaemonEndpoints kubeletEndpoint:DaemonEndpoint
NodeFeatures supplementalGroupsPolicy:b
NodeRuntimeHandler features:NodeRuntimeHandlerFeatures name:s
NodeRuntimeHandlerFeatures recursiveReadOnlyMounts:b userNamespaces:b
NodeSelector nodeSelectorTerms:[NodeSelectorTerm
NodeSelectorRequirement key:s operator:s values:[s
NodeSelectorTerm matchExpressions:[NodeSelectorRequirement matchFields:[NodeSelectorRequirement
NodeSpec podCIDR:s podCIDRs:[s providerID:s taints:[Taint unschedulable:b
NodeStatus addresses:[NodeAddress allocatable:{q capacity:{q conditions:[NodeCondition
 daemonEndpoints:NodeDaemonEndpoints declaredFeatures:[s features:NodeFeatures
 nodeInfo:NodeSystemInfo phase:s runtimeHandlers:[NodeRuntimeHandler
NodeSwapStatus capacity:i
NodeSystemInfo architecture:s bootID:s containerRuntimeVersion:s kernelVersion:s
 kubeProxyVersion:s kubeletVersion:s machineID:s operatingSystem:s osImage:s swap:NodeSwapStatus
 systemUUID:s
ObjectMeta annotations:{s creationTimestamp:t deletionGracePeriodSeconds:i deletionTimestamp:t
 finalizers:[s generateName:s generation:i labels:{s name:s namespace:s
 ownerReferences:[OwnerReference uid:s
OwnerReference apiVersion:s blockOwnerDeletion:b controller:b kind:s name:s uid:s
PersistentVolumeClaimVolumeSource claimName:s readOnly:b
PhotonPersistentDiskVolumeSource fsType:s pdID:s
Pod metadata:ObjectMeta spec:PodSpec status:PodStatus
PodAffinity preferredDuringSchedulingIgnoredDuringExecution:[WeightedPodAffinityTerm
 requiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm
PodAffinityTerm labelSelector:LabelSelector matchLabelKeys:[s mismatchLabelKeys:[s
 namespaceSelector:LabelSelector namespaces:[s topologyKey:s
PodAntiAffinity preferredDuringSchedulingIgnoredDuringExecution:[WeightedPodAffinityTerm
 requiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm
PodCondition lastTransitionTime:t message:s observedGeneration:i reason:s status:s type:s
PodDNSConfig nameservers:[s options:[PodDNSConfigOption searches:[s
PodDNSConfigOption name:s value:s
PodIP ip:s
PodOS name:s
PodReadinessGate conditionType:s
PodResourceClaim name:s resourceClaimName:s resourceClaimTemplateName:s
PodResourceClaimStatus name:s resourceClaimName:s
PodSchedulingGate name:s
PodSchedulingGroup podGroupName:s
PodSecurityContext appArmorProfile:AppArmorProfile fsGroup:i fsGroupChangePolicy:s runAsGroup:i
 runAsNonRoot:b runAsUser:i seLinuxChangePolicy:s seLinuxOptions:SELinuxOptions
 seccompProfile:SeccompProfile supplementalGroups:[i supplementalGroupsPolicy:s sysctls:[Sysctl
 windowsOptions:WindowsSecurityContextOptions
PodSpec activeDeadlineSeconds:i affinity:Affinity automountServiceAccountToken:b
 containers:[Container dnsConfig:PodDNSConfig dnsPolicy:s enableServiceLinks:b
 hostAliases:[HostAlias hostIPC:b hostNetwork:b hostPID:b hostUsers:b hostname:s
 hostnameOverride:s imagePullSecrets:[LocalObjectReference initContainers:[Container nodeName:s
 nodeSelector:{s os:PodOS overhead:{q preemptionPolicy:s priority:i priorityClassName:s
 readinessGates:[PodReadinessGate resourceClaims:[PodResourceClaim
 resources:ResourceRequirements restartPolicy:s runtimeClassName:s schedulerName:s
 schedulingGates:[PodSchedulingGate schedulingGroup:PodSchedulingGroup
 securityContext:PodSecurityContext serviceAccount:s serviceAccountName:s setHostnameAsFQDN:b
 shareProcessNamespace:b subdomain:s terminationGracePeriodSeconds:i tolerations:[Toleration
 topologySpreadConstraints:[TopologySpreadConstraint volumes:[Volume
PodStatus conditions:[PodCondition hostIP:s hostIPs:[HostIP message:s nominatedNodeName:s
 observedGeneration:i phase:s podIP:s podIPs:[PodIP qosClass:s reason:s resize:s
 resourceClaimStatuses:[PodResourceClaimStatus startTime:t
PortworxVolumeSource fsType:s readOnly:b volumeID:s
PreferredSchedulingTerm preference:NodeSelectorTerm weight:i
QuobyteVolumeSource group:s readOnly:b registry:s tenant:s user:s volume:s
RBDVolumeSource fsType:s image:s keyring:s monitors:[s pool:s readOnly:b
 secretRef:LocalObjectReference user:s
ResourceClaim name:s request:s
ResourceRequirements claims:[ResourceClaim limits:{q requests:{q
SELinuxOptions level:s role:s type:s user:s
ScaleIOVolumeSource fsType:s gateway:s protectionDomain:s readOnly:b
 secretRef:LocalObjectReference sslEnabled:b storageMode:s storagePool:s system:s volumeName:s
SeccompProfile localhostProfile:s type:s
SecretVolumeSource defaultMode:i items:[KeyToPath optional:b secretName:s
SecurityContext allowPrivilegeEscalation:b appArmorProfile:AppArmorProfile
 capabilities:Capabilities privileged:b procMount:s readOnlyRootFilesystem:b runAsGroup:i
 runAsNonRoot:b runAsUser:i seLinuxOptions:SELinuxOptions seccompProfile:SeccompProfile
 windowsOptions:WindowsSecurityContextOptions
StorageOSVolumeSource fsType:s readOnly:b secretRef:LocalObjectReference volumeName:s
 volumeNamespace:s
Sysctl name:s value:s
Taint effect:s key:s timeAdded:t value:s
Toleration effect:s key:s operator:s tolerationSeconds:i value:s
TopologySpreadConstraint labelSelector:LabelSelector matchLabelKeys:[s maxSkew:i minDomains:i
 nodeAffinityPolicy:s nodeTaintsPolicy:s topologyKey:s whenUnsatisfiable:s
Volume awsElasticBlockStore:AWSElasticBlockStoreVolumeSource azureDisk:AzureDiskVolumeSource
 azureFile:AzureFileVolumeSource cephfs:CephFSVolumeSource cinder:CinderVolumeSource
 configMap:ConfigMapVolumeSource csi:CSIVolumeSource emptyDir:EmptyDirVolumeSource
 fc:FCVolumeSource flexVolume:FlexVolumeSource flocker:FlockerVolumeSource
 gcePersistentDisk:GCEPersistentDiskVolumeSource gitRepo:GitRepoVolumeSource
 glusterfs:GlusterfsVolumeSource hostPath:HostPathVolumeSource image:ImageVolumeSource
 iscsi:ISCSIVolumeSource name:s nfs:NFSVolumeSource
 persistentVolumeClaim:PersistentVolumeClaimVolumeSource
 photonPersistentDisk:PhotonPersistentDiskVolumeSource portworxVolume:PortworxVolumeSource
 quobyte:QuobyteVolumeSource rbd:RBDVolumeSource scaleIO:ScaleIOVolumeSource
 secret:SecretVolumeSource storageos:StorageOSVolumeSource
 vsphereVolume:VsphereVirtualDiskVolumeSource
VolumeDevice devicePath:s name:s
VolumeMount mountPath:s mountPropagation:s name:s readOnly:b recursiveReadOnly:s subPath:s
 subPathExpr:s
VsphereVirtualDiskVolumeSource fsType:s storagePolicyID:s storagePolicyName:s volumePath:s
WeightedPodAffinityTerm podAffinityTerm:PodAffinityTerm weight:i
WindowsSecurityContextOptions gmsaCredentialSpec:s gmsaCredentialSpecName:s hostProcess:b
 runAsUserName:s
"""

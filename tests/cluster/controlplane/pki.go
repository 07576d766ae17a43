package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// writePKI fills a folder with what an API server needs: a CA, a serving certificate for loopback
// signed by it, and the key pair for service account tokens. It is here because Python's standard
// library cannot make certificates. Standard library only: the Debian build compiles it too.
func writePKI(arguments []string) int {
	if len(arguments) != 2 {
		fmt.Fprintln(os.Stderr, "usage: controlplane pki FOLDER")
		return 2
	}
	if err := fillPKI(arguments[1]); err != nil {
		fmt.Fprintln(os.Stderr, "controlplane pki:", err)
		return 1
	}
	return 0
}

func fillPKI(folder string) error {
	now := time.Now()
	authority := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "kpolicy-test-ca"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.AddDate(1, 0, 0),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if err := writeCertificate(folder, "ca", authority, authority, authorityKey, authorityKey); err != nil {
		return err
	}
	raw, err := os.ReadFile(filepath.Join(folder, "ca.crt"))
	if err != nil {
		return err
	}
	block, _ := pem.Decode(raw)
	// Parsed back, because signing needs the subject key id that was chosen above.
	signer, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return err
	}
	serving := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "kube-apiserver"},
		NotBefore:    authority.NotBefore,
		NotAfter:     authority.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(10, 0, 0, 1)},
	}
	servingKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if err := writeCertificate(folder, "apiserver", serving, signer, servingKey, authorityKey); err != nil {
		return err
	}
	return writeServiceAccountKeys(folder)
}

func writeCertificate(folder, name string, certificate, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, certificate, parent, &key.PublicKey, parentKey)
	if err != nil {
		return err
	}
	if err := writePEM(folder, name+".crt", "CERTIFICATE", der); err != nil {
		return err
	}
	return writeKey(folder, name+".key", key)
}

func writeServiceAccountKeys(folder string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if err := writeKey(folder, "sa.key", key); err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	return writePEM(folder, "sa.pub", "PUBLIC KEY", der)
}

func writeKey(folder, name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(folder, name, "EC PRIVATE KEY", der)
}

func writePEM(folder, name, kind string, der []byte) error {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	return os.WriteFile(filepath.Join(folder, name), text, 0o600)
}

/** A passkey in software: what a server stores of it, and its answers to challenges (WebAuthn Level 3 §6.3.3). */
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

export interface SoftPasskey {
  /** As a factor keeps it. */
  readonly stored: string
  /** The credential that a browser would send, as JSON; the holder was checked, and nothing is counted. */
  answer(challenge: string, origin: string, userId: string): string
}

export function createSoftPasskey(): SoftPasskey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const id = randomBytes(16).toString('base64url')
  const point = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
  // RFC 9053 §7.2, in CBOR: { kty: OKP, alg: EdDSA, crv: Ed25519, x }.
  const cose = Buffer.concat([Buffer.from('a40101032720062158', 'hex'), Buffer.from([point.length]), point])
  return {
    stored: JSON.stringify({ id, publicKey: cose.toString('base64url') }),
    answer(challenge, origin, userId) {
      const clientData = Buffer.from(JSON.stringify({ type: 'webauthn.get', challenge, origin }))
      const present = 0x01
      const checked = 0x04
      const count = [0, 0, 0, 0]
      const authenticatorData = Buffer.concat([
        sha256(new URL(origin).hostname),
        Buffer.from([present | checked, ...count]),
      ])
      const signature = sign(null, Buffer.concat([authenticatorData, sha256(clientData)]), privateKey)
      const response = {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: authenticatorData.toString('base64url'),
        signature: signature.toString('base64url'),
        userHandle: Buffer.from(userId).toString('base64url'),
      }
      return JSON.stringify({ id, rawId: id, type: 'public-key', response, clientExtensionResults: {} })
    },
  }
}

function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest()
}

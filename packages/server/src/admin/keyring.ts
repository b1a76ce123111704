/** Administration of signing keys: rotation on request, retirement, and withdrawal of a compromised key. */
import type { Clock, GateEvent } from 'gatehouse-protocol'
import type { SignatureAlg } from '../lib/signature-algs.ts'
import { addKey, chooseSigningKeys, LONGEST_TOKEN_MS } from '../store/keys/key-rotation.ts'
import type { SigningKeys, StoredKey } from '../store/keys/signing-keys.ts'

export interface KeyringOptions {
  readonly keys: SigningKeys
  readonly sealingKey: Buffer
  readonly clock: Clock
  publish(event: GateEvent): Promise<unknown>
}

export type SigningKeyring = ReturnType<typeof createKeyring>

export function createKeyring({ keys, sealingKey, clock, publish }: KeyringOptions) {
  return {
    list: () => keys.list(),
    /** Creates a key that signs with this algorithm from `activeFrom` on. */
    async rotate(alg: SignatureAlg, activeFrom: number): Promise<StoredKey> {
      const key = await addKey({ keys, sealingKey }, alg, clock(), activeFrom)
      await publish({ kind: 'keys-changed' })
      return key
    },
    /** The key stops signing now and stays published until its last token has expired. */
    async retire(kid: string): Promise<void> {
      const now = clock()
      await keys.retire(kid, now, now + LONGEST_TOKEN_MS)
      await publish({ kind: 'keys-changed' })
    },
    /** Rejects every token that the key signed, on every node. Returns the key that replaces it, where it was the signing key. */
    async withdraw(kid: string): Promise<StoredKey | undefined> {
      const now = clock()
      const signing = [...chooseSigningKeys(await keys.list(), now).values()].find((key) => key.kid === kid)
      const successor = signing && (await addKey({ keys, sealingKey }, signing.alg, now, now))
      await keys.withdraw(kid, now)
      await publish({ kind: 'keys-changed', withdrawn: kid })
      return successor
    },
  }
}

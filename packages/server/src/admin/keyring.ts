/** Administration of signing keys: rotation on request, retirement, and withdrawal of a compromised key. */
import type { Clock, GateEvent } from 'gatehouse-protocol'
import { addKey, LONGEST_TOKEN_MS, signingKeyOf } from '../store/keys/key-rotation.ts'
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
    /** Creates a key that signs from `activeFrom` on. */
    async rotate(activeFrom: number): Promise<StoredKey> {
      const key = await addKey({ keys, sealingKey }, clock(), activeFrom)
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
      const signs = signingKeyOf(await keys.list(), now)?.kid === kid
      const successor = signs ? await addKey({ keys, sealingKey }, now, now) : undefined
      await keys.withdraw(kid, now)
      await publish({ kind: 'keys-changed', withdrawn: kid })
      return successor
    },
  }
}

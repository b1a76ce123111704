/** Administration of signing keys: rotation on request, retirement, and withdrawal of a compromised key. */
import type { Clock, GateEvent } from 'gatehouse-protocol'
import { addKey, LONGEST_TOKEN_MS, signingKeyOf } from '../store/keys/key-rotation.ts'
import type { SigningKeys } from '../store/keys/signing-keys.ts'
import type { SigningKeyring } from './ports.ts'

export interface KeyringOptions {
  readonly keys: SigningKeys
  readonly sealingKey: Buffer
  readonly clock: Clock
  publish(event: GateEvent): Promise<unknown>
}

export function createKeyring({ keys, sealingKey, clock, publish }: KeyringOptions): SigningKeyring {
  return {
    list: () => keys.list(),
    async rotate(activeFrom) {
      const key = await addKey({ keys, sealingKey }, clock(), activeFrom)
      await publish({ kind: 'keys-changed' })
      return key
    },
    async retire(kid) {
      const now = clock()
      await keys.retire(kid, now, now + LONGEST_TOKEN_MS)
      await publish({ kind: 'keys-changed' })
    },
    async withdraw(kid) {
      const now = clock()
      const signs = signingKeyOf(await keys.list(), now)?.kid === kid
      const successor = signs ? await addKey({ keys, sealingKey }, now, now) : undefined
      await keys.withdraw(kid, now)
      await publish({ kind: 'keys-changed', withdrawn: kid })
      return successor
    },
  }
}

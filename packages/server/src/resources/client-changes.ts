/** What follows when a client is registered, changed or removed: its secrets, its tokens, and the event for other nodes. */
import { changedAttributes } from '../store/attributes/attribute-values.ts'
import type { RevocationsInside } from '../store/authorizations/revocations.ts'
import { type ClientMetadata, hasSecret, toClient } from '../store/clients/client-metadata.ts'
import { secretDigest } from '../store/clients/clients.ts'
import { tokenScopes } from '../store/clients/token-scopes.ts'
import { newSecret } from '../store/keys/opaque.ts'
import { removeScimClient } from '../store/scim/provisioned-roles.ts'
import type { Stores } from '../store/stores.ts'
import { type ClientItem, clientMetadata } from './client-shape.ts'
import type { ChangeInside, ItemChange, JsonObject } from './define-resource.ts'

/** A client of a file has the secret of the file; for others the server makes one, which is shown only once. */
export async function putClient(item: ClientItem, change: ItemChange<ClientItem>): Promise<JsonObject | undefined> {
  const { before, secret, isDeclared, stores, publish, revocations } = change
  // A request does not name it.
  const metadata = { ...clientMetadata(item), ...(before?.document === true && { document: true }) }
  const { client_id: clientId } = metadata
  await stores.clients.put(metadata)
  if (secret !== undefined) await replaceSecret(clientId, secret.value, stores.clients)
  const made = before === undefined && !isDeclared && hasSecret(metadata) ? newSecret() : undefined
  if (made !== undefined) await stores.clients.addSecret(clientId, made)
  const attributes = changedAttributes(before?.attributes ?? {}, metadata.attributes ?? {})
  await publish({ kind: 'clients-changed', clientId, ...(attributes.length > 0 && { attributes }) })
  await limitTokens(before, metadata, stores, revocations)
  return made === undefined ? undefined : { client_secret: made }
}

export async function removeClient({ client_id: clientId }: ClientItem, change: ChangeInside): Promise<void> {
  const { stores, publish, revocations } = change
  await removeScimClient(clientId, stores, revocations)
  await stores.clients.remove(clientId)
  await publish({ kind: 'clients-changed', clientId })
  await revocations.revokeClient(clientId)
}

/** Replaces only the secret that a file has set. Others were added by hand, for example for rotation. */
async function replaceSecret(clientId: string, secret: string | undefined, clients: Stores['clients']): Promise<void> {
  const wanted = secret === undefined ? undefined : secretDigest(clientId, secret)
  const declared = (await clients.find(clientId))?.secrets.filter((candidate) => candidate.declared) ?? []
  for (const { id, digest } of declared) {
    if (digest !== wanted) await clients.removeSecret(clientId, id)
  }
  if (secret !== undefined && !declared.some(({ digest }) => digest === wanted))
    await clients.addSecret(clientId, secret, { declared: true })
}

/** Revokes or limits the tokens of a client according to the change. */
async function limitTokens(
  before: ClientMetadata | undefined,
  after: ClientMetadata,
  { apis }: Pick<Stores, 'apis'>,
  revocations: RevocationsInside,
): Promise<void> {
  const [was, is] = [before && toClient(before, []), toClient(after, [])]
  if (is.disabled) {
    if (was?.disabled !== true) await revocations.revokeClient(is.id)
    return
  }
  const scopes = await tokenScopes(is, apis)
  const isSame = was?.disabled === false && (await tokenScopes(was, apis)).symmetricDifference(scopes).size === 0
  if (!isSame) await revocations.limitClientScopes(is.id, scopes)
}

/** Clients: the applications that get tokens. */
import { splitWords } from '../lib/words.ts'
import { list } from '../schema/builders.ts'
import { type ClientMetadata, hasSecret } from '../store/clients/client-metadata.ts'
import type { DefinitionStore } from '../store/database/definitions.ts'
import { newId } from '../store/keys/opaque.ts'
import type { Stores } from '../store/stores.ts'
import { readAllClients } from './all-pages.ts'
import { attributeValuesTarget, VALUE_OPTION, valueFaults } from './attributes.ts'
import { algFaults } from './client-algs.ts'
import { clientFaults } from './client-faults.ts'
import { CLIENT, CLIENT_ID, type ClientItem, clientMetadata, type DeclaredClient } from './client-shape.ts'
import type { JsonObject, NewSecret, Resource, SecretDigests } from './define-resource.ts'

export const CLIENTS = {
  noun: 'client',
  section: 'clients',
  isBeforeTables: true,
  key: 'client_id',
  scope: 'Identity/Admin',
  list: list(CLIENT),
  patterns: [[CLIENT_ID, 'must contain only visible ASCII characters']],
  complete: (body) => ({ client_id: newId(9), ...body }),
  toItem: toClientItem,
  present: presentClient,
  declare({ disabled, document, ...client }) {
    return { ...clientMetadata(client), ...(disabled === true && { disabled }) }
  },
  compare: (client) => clientMetadata(client),
  namedScopes: ({ scope = '', exchange_scope: exchanged = '' }) => [...splitWords(scope), ...splitWords(exchanged)],
  refersTo: ['scopes', 'attributes', 'signingKeys'],
  faults: (client, { scopes, attributes, signingKeys }) => [
    ...clientFaults(client, scopes),
    ...valueFaults(client.attributes, attributes),
    ...algFaults(client, signingKeys),
  ],
  secret: {
    member: 'client_secret',
    has: hasSecret,
    declaredFaults: (client) => (hasSecret(client) && client.client_secret === undefined ? [SECRET_MISSING] : []),
    // RFC 6749 appendix A.2. Clients encode other characters in different ways, or not at all.
    textFault: ({ client_id }, text) =>
      /^[\x20-\x7e]+$/.test(text)
        ? undefined
        : `the secret of ${client_id} may contain only printable ASCII characters; generate one with "openssl rand -hex 32"`,
    plan: planSecret,
  },
  isNewerThanNodes: (body) =>
    NEW_MEMBERS.some((name) => (body[name] ?? null) !== null) || body.token_endpoint_auth_method === 'private_key_jwt',
  refusal: async (before, after) =>
    after !== undefined && isOtherDocument(before, after) ? DOCUMENT_FIXED : undefined,
  store: storeClients,
  isLarge: true,
  put: async (client, change) => (await import('./client-changes.ts')).putClient(client, change),
  remove: async (client, change) => (await import('./client-changes.ts')).removeClient(client, change),
  routes: {
    list: 'Lists clients page by page, ordered by id. Built-in clients have `built_in`. A change of `gatehouse-cli` registers it; `gatehouse-console` and `gatehouse-tools` cannot be changed.',
    pages: {
      things: 'Clients',
      filters: {
        search:
          'Only clients whose id or name contains this; case is ignored. A page can be short or empty even if there is a `next`.',
      },
    },
    create: 'Registers a client. A confidential client gets a secret, which is shown only once.',
    show: 'Shows a client.',
    change:
      'Changes a client (JSON merge patch). Disabling it revokes all its tokens; a removed scope is removed from its tokens too.',
    remove:
      'Deletes a client and revokes all its tokens. One that replaces a built-in client is not deleted, because that one would be back: disable it.',
    instead: 'register another client',
    replies: { create: 'The client, with client_secret if it has one.' },
  },
  commands: {
    argument: 'CLIENT',
    options: {
      '--public': { isRead: true, help: 'a public client, without a secret', only: 'add' },
      '--no-secret': {
        isRead: true,
        help: 'a client that authenticates with assertions only (private_key_jwt)',
        only: 'add',
      },
      '--name': { member: 'client_name', value: 'NAME', help: 'the display name' },
      '--redirect': { member: 'redirect_uris', value: 'URI', repeatable: true, help: 'a redirect URI; repeatable' },
      '--grant': {
        isRead: true,
        value: 'GRANT',
        repeatable: true,
        help: 'a grant type; device_code and token_exchange for short; repeatable',
      },
      '--response': {
        member: 'response_types',
        value: 'TYPE',
        repeatable: true,
        help: 'a response type such as "code id_token"; repeatable',
      },
      '--scope': {
        isRead: true,
        value: 'SCOPE',
        repeatable: true,
        help: 'a scope that the client may request; repeatable',
      },
      '--origin': {
        member: 'allowed_origins',
        value: 'ORIGIN',
        repeatable: true,
        help: 'an origin whose pages may call (CORS); repeatable',
      },
      '--jwks-uri': {
        isRead: true,
        value: 'URL',
        help: 'where the client publishes its keys; it authenticates by private_key_jwt',
      },
      '--workload': {
        isRead: true,
        value: 'ISSUER=SUBJECT',
        repeatable: true,
        help: 'a workload that authenticates with a token of its issuer, such as a service account; repeatable',
      },
      '--api': { value: 'RESOURCE', help: 'the API that this client serves, so that it can exchange tokens for it' },
      '--exchange-scope': {
        isRead: true,
        value: 'SCOPE',
        repeatable: true,
        help: 'a scope that it may get by token exchange; repeatable',
      },
      '--require-dpop': {
        member: 'dpop_bound_access_tokens',
        value: 'true|false',
        help: 'bind its access tokens to a key of the client (DPoP)',
      },
      '--require-par': {
        member: 'require_pushed_authorization_requests',
        value: 'true|false',
        help: 'accept only pushed authorization requests (PAR)',
      },
      '--require-jar': {
        member: 'require_signed_request_object',
        value: 'true|false',
        help: 'accept only authorization requests that are signed with its keys (JAR)',
      },
      '--profile': {
        isRead: true,
        value: 'fapi2|none',
        help: 'a security profile: fapi2 is the FAPI 2.0 Security Profile',
      },
      '--require-acr': { value: '1|2', help: 'signing in to it needs 1 or 2 factors' },
      '--require-age': { value: 'SECONDS', help: 'users whose sign-in is older sign in again' },
      '--skip-consent': {
        value: 'true|false',
        help: 'do not ask users for consent; for your own applications (on a device, any program can pose as one)',
      },
      '--set': {
        isJson: true,
        value: 'MEMBER=JSON',
        repeatable: true,
        help: 'any other member of the metadata; repeatable',
      },
      ...VALUE_OPTION,
    },
    columns: ['client_id', 'client_name', 'grant_types', 'scope', 'disabled'],
    list: { summary: 'Lists clients.', examples: ['client list', 'client list --json'] },
    show: {
      summary: 'Shows a client and its secrets, without their values.',
      examples: ['client show desk-app'],
    },
    add: {
      summary: 'Registers a client; its secret is shown only once.',
      examples: [
        'client add desk-app --redirect https://desk.example/callback --scope openid --scope Platform/News',
        'client add robot --grant client_credentials --scope Platform/Market',
        'client add pricer --no-secret --grant client_credentials --scope Platform/Market --workload https://kubernetes.example=system:serviceaccount:trading:pricer',
        'client add order-desk --grant token_exchange --api https://orders.example.com --exchange-scope Platform/Market',
        'client add gatehouse-cli --public --grant device_code --grant refresh_token --grant password --scope "openid profile offline_access Identity/Admin Platform/Admin Platform/Market"',
      ],
    },
    set: {
      summary: 'Changes a client; a given list replaces the previous list.',
      examples: ['client set desk-app --redirect https://desk.example/new', 'client set desk-app --skip-consent true'],
    },
    disable: {
      summary: 'Disables a client and revokes all its tokens at once.',
      examples: ['client disable desk-app --yes'],
      confirm: (client) => `Revoke all tokens of the client ${client}?`,
    },
    enable: { summary: 'Enables a disabled client.', examples: ['client enable desk-app'] },
    remove: {
      summary: 'Deletes a client.',
      examples: ['client remove desk-app --yes'],
      confirm: (client) => `Permanently delete the client ${client}?`,
      done: (client) => `The client ${client} was deleted.`,
    },
  },
} as const satisfies Resource<ClientItem, DeclaredClient>

const DOCUMENT_FIXED =
  'What the client is comes from the document at its client_id: disable it, delete it, or change which agents are allowed'

/** An operator can only disable what an agent publishes. */
function isOtherDocument(before: ClientItem, after: ClientItem): boolean {
  const said = ({ disabled, document, ...metadata }: ClientMetadata) => JSON.stringify(Object.entries(metadata).sort())
  return before.document === true && said(clientMetadata(before)) !== said(clientMetadata(after))
}

const SECRET_MISSING = {
  path: 'client_secret',
  text: 'is missing; for a client without a secret set token_endpoint_auth_method to none or private_key_jwt',
}

/** Members that nodes of earlier versions do not respect. */
const NEW_MEMBERS = [
  'jwks_uri',
  'token_endpoint_auth_signing_alg',
  'federated',
  'api',
  'exchange_scope',
  'access_token_alg',
  'id_token_signed_response_alg',
  'request_object_signing_alg',
  'require_signed_request_object',
  'authorization_signed_response_alg',
  'introspection_signed_response_alg',
  'dpop_bound_access_tokens',
  'require_pushed_authorization_requests',
  'profile',
  'agent',
] as const

/** A client that an operator has disabled stays disabled unless the file says otherwise. */
function toClientItem(client: DeclaredClient, before?: ClientItem): ClientItem {
  const { client_secret, attributes, disabled = before?.disabled ?? false, ...metadata } = client
  const ofDocument = before?.document === true && { document: true }
  return { ...metadata, ...ofDocument, ...(attributes && { attributes: attributeValuesTarget(attributes) }), disabled }
}

function presentClient(client: ClientItem): JsonObject {
  return {
    ...clientMetadata(client),
    ...(client.isBuiltIn === true && { built_in: true }),
    secrets: (client.secrets ?? []).map(({ id, declared, createdAt, expiresAt }) => ({
      id,
      declared,
      created_at: new Date(createdAt).toISOString(),
      expires_at: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    })),
  }
}

/** A file knows the secrets that it has set; others are not touched. */
function planSecret(
  { client_id, client_secret: value }: DeclaredClient,
  before: ClientItem | undefined,
  { secretDigest }: SecretDigests,
): NewSecret | undefined {
  const wanted = typeof value === 'string' ? secretDigest(client_id, value) : undefined
  const declared = (before?.secrets ?? []).filter((secret) => secret.declared)
  const isSet = declared.some(({ digest }) => digest === wanted) && declared.every(({ digest }) => digest === wanted)
  if (wanted === undefined ? declared.length === 0 : isSet) return undefined
  return { value: typeof value === 'string' ? value : undefined }
}

/** All clients together come without their secrets. */
function storeClients(stores: Pick<Stores, 'clients'>): DefinitionStore<ClientItem> {
  const { clients } = stores
  const find = async (id: string) => {
    const metadata = await clients.metadata(id)
    return metadata && { ...metadata, secrets: (await clients.find(id))?.secrets ?? [] }
  }
  return {
    find,
    async list({ after = '', limit } = {}) {
      if (limit === undefined) return readAllClients(stores)
      const found = await Promise.all((await clients.listIds({ after, limit, registered: true })).map(find))
      return found.filter((client) => client !== undefined)
    },
    put: (client) => clients.put(clientMetadata(client)),
    remove: (id) => clients.remove(id),
  }
}

/**
 * A kind of provider that no release has: a directory that knows names and passwords, asked with a form of this server, as LDAP would be. A
 * release would have this file as a folder of `identity/providers`, with a line in `connectors.ts`, and the members of its definition in
 * `ProviderKinds` and `resources/`.
 */
import { Refusal } from 'gatehouse-protocol'
import { FORM, formParameters } from '../../packages/server/src/http/request/body.ts'
import type { ConnectorKind } from '../../packages/server/src/identity/providers/connector.ts'
import { externalUrl } from '../../packages/server/src/identity/providers/connector.ts'
import { badAnswer, isProviderFault } from '../../packages/server/src/identity/providers/faults.ts'
import { seal, unseal } from '../../packages/server/src/store/keys/opaque.ts'
import type { ProviderMeaning } from '../../packages/server/src/store/providers/providers.ts'

export interface DirectoryProvider extends ProviderMeaning {
  readonly kind: 'directory'
  readonly issuer: string
}

interface Entry {
  readonly password: string
  readonly claims: Readonly<Record<string, unknown>>
}

/** By distinguished name. */
export const ENTRIES = new Map<string, Entry>()

export const DIRECTORY: ConnectorKind<DirectoryProvider> = {
  open: (provider, env) => ({
    async signInUrl({ state }) {
      return `${externalUrl(provider, 'password', env)}?state=${encodeURIComponent(state)}`
    },
    async prove(answer, { state }) {
      const ticket = answer.get('ticket')
      if (ticket === undefined) throw badAnswer('There is no ticket')
      const subject = unseal(ticket, env.providerKey, ticketPurpose(provider.id, state)).toString()
      const { issuer } = provider
      return {
        ...{ issuer, subject, sid: subject, authTime: env.clock(), isMultiFactor: false },
        ...{ claims: ENTRIES.get(subject)?.claims ?? {}, leftOut: new Set<string>(), signOut: subject },
      }
    },
    signOutUrl: (signOut, state) => `${provider.issuer}/bye?${new URLSearchParams({ signOut, state })}`,
  }),

  async check() {
    if (ENTRIES.size === 0) throw new Error('the directory is empty')
  },
  advice: ({ id }) => `Fill the directory of ${id}.`,

  routes({ find, endSessions }, env) {
    const requireProvider = (id: string) => {
      const provider = find(id)
      if (provider === undefined || String(provider.kind) !== 'directory')
        throw new Refusal('http.not_found', 404, 'There is no such provider')
      return provider
    }
    return [
      {
        at: [],
        limit: 'pages',
        routes: [
          {
            method: 'GET',
            path: '/external/:id/password',
            handle(http) {
              requireProvider(http.param('id'))
              http.send('text/html', '<form method="post"><input name="name"><input name="password"></form>')
            },
          },
          {
            // The state in the address decides whose sign-in it is, and the callback whether it is of this browser.
            method: 'POST',
            path: '/external/:id/password',
            body: FORM,
            handle(http) {
              const provider = requireProvider(http.param('id'))
              const form = formParameters(http)
              const name = form.get('name') ?? ''
              if (ENTRIES.get(name)?.password !== form.get('password'))
                throw new Refusal('access.insufficient_scope', 403, 'The password is wrong')
              const state = String(http.query.get('state'))
              const ticket = seal(Buffer.from(name), env.providerKey, ticketPurpose(provider.id, state))
              http.redirect(`${externalUrl(provider, 'callback', env)}?${new URLSearchParams({ state, ticket })}`)
            },
          },
          {
            method: 'DELETE',
            path: '/external/:id/entry',
            async handle(http) {
              const provider = requireProvider(http.param('id'))
              const subject = String(http.query.get('name'))
              const { issuer } = provider
              const notice = { issuer, subject, sid: undefined, jti: subject, keptMs: 60_000 }
              const isNew = await endSessions(http, provider, notice).then(() => true, isFault)
              http.end(isNew ? 204 : 409)
            },
          },
        ],
      },
    ]
  },
}

function isFault(error: unknown): false {
  if (isProviderFault(error)) return false
  throw error
}

function ticketPurpose(id: string, state: string): string {
  return `ticket of ${id} for ${state}`
}

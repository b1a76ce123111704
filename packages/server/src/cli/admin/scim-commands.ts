/** `gatehouse scim …` */
import { create, list, named, show } from './actions.ts'
import { type AdminCommand, segment, withoutUndefined } from './admin-command.ts'

const SCIM = '/admin/scim'
const DAY_SECONDS = 86_400
const MOST_DAYS = 730

export const SCIM_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'scim list',
    summary: 'Lists the clients that may provision users over SCIM, and when each was last seen.',
    examples: ['scim list', 'scim list --json'],
    run: list(SCIM, ['client_id', 'client_name', 'last_seen_at', 'tokens', 'disabled']),
  },
  {
    name: 'scim show',
    positionals: ['CLIENT'],
    summary: 'Shows a SCIM client and its provisioning tokens, without their values.',
    examples: ['scim show hr-sync'],
    run: show(SCIM),
  },
  {
    name: 'scim token',
    positionals: ['CLIENT'],
    options: { '--days': { value: 'DAYS', help: 'how long it is valid, at most 730 (default 365)' } },
    summary: 'Issues a provisioning token, which is shown only once; a client has at most two.',
    examples: ['scim token hr-sync', 'scim token hr-sync --days 90'],
    run: create(named(SCIM, 'tokens'), ({ args }) => {
      const days = args.integer('--days', { least: 1, most: MOST_DAYS })
      return withoutUndefined({ expires_in: days === undefined ? undefined : days * DAY_SECONDS })
    }),
  },
  {
    name: 'scim revoke',
    positionals: ['CLIENT', 'TOKEN'],
    summary: 'Revokes a provisioning token by its id.',
    examples: ['scim revoke hr-sync nP3hQ8… --yes'],
    confirm: ([client, token]) => `Revoke the provisioning token ${token} of ${client}?`,
    async run({ args, request }) {
      const [client, token] = args.positionals
      await request('DELETE', `${SCIM}/${segment(client)}/tokens/${segment(token)}`)
      return { kind: 'text', text: `The provisioning token ${token} is revoked.` }
    },
  },
]

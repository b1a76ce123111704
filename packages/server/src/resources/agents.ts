/** Which agents are allowed: programs with a model that read for users, and publish a document about themselves. */
import { allowedAgentFault } from 'gatehouse-protocol'
import type { XStatic } from 'typebox/schema'
import { closed, shortList, text } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import { AGENTS_TABLE, type AllowedAgent, AllowedAgents } from '../store/agents/allowed-agents.ts'
import { KnownScopes } from '../store/apis/known-scopes.ts'
import type { DefinitionStore } from '../store/database/definitions.ts'
import type { Stores } from '../store/stores.ts'
import { APIS, LONGEST_SCOPE, SCOPE_NAME } from './apis.ts'
import type { ChangeInside, Known, Resource } from './define-resource.ts'
import { repeated, unknownName } from './names.ts'

export type DeclaredAgent = XStatic<typeof AGENT>

const MOST_AGENTS = 200

const AGENT = closed(['allow'], {
  allow: text({
    minLength: 1,
    maxLength: 512,
    description: 'A host such as claude.ai, with its port unless that is 443; one whole client_id; or *, any agent.',
  }),
  scopes: {
    ...shortList(
      text({ pattern: SCOPE_NAME.source, maxLength: LONGEST_SCOPE, examples: ['Platform/Market', 'Platform/News'] }),
      'What they may ask for, within the setting agent_scopes. Default: all of that.',
    ),
    minItems: 1,
  },
})

export const AGENTS = {
  noun: 'agent',
  title: 'allowed agent',
  section: 'agents',
  key: 'allow',
  scope: 'Identity/Admin',
  list: shortList(AGENT, 'The agents that users may connect. Without an entry none: the most precise one counts.'),
  patterns: APIS.patterns,
  toItem: ({ allow, scopes }) => ({ allow, ...(scopes && { scopes }) }),
  declare: ({ allow, scopes }) => ({ allow, ...(scopes && { scopes: [...scopes] }) }),
  present: ({ allow, scopes }) => ({ allow, ...(scopes && { scopes }) }),
  namedScopes: ({ scopes = [] }) => scopes,
  refersTo: ['scopes'],
  faults: agentFaults,
  faultsTogether: (after) =>
    after.length <= MOST_AGENTS
      ? []
      : [{ path: '', text: `there can be at most ${MOST_AGENTS} entries, not ${after.length}` }],
  isNewerThanNodes: () => true,
  store: storeAgents,
  async put(agent, change) {
    await limitClients(change, (entries) => [...entries.filter(({ allow }) => allow !== agent.allow), agent])
    await storeAgents(change.stores).put(agent)
    return undefined
  },
  async remove({ allow }, change) {
    await limitClients(change, (entries) => entries.filter((entry) => entry.allow !== allow))
    await storeAgents(change.stores).remove(allow)
  },
  changedEvent: 'agents-changed',
  isExportedIfAny: true,
  routes: {
    list: 'Lists the agents that users may connect.',
    create: 'Allows agents: those of a host, one, or all.',
    show: 'Shows which scopes these agents may ask for.',
    change: 'Changes which scopes these agents may ask for (JSON merge patch). Their tokens lose the others at once.',
    remove: 'Allows these agents no longer. Their grants end at once, unless another entry allows them.',
    instead: 'allow others, and remove this entry',
  },
  commands: {
    argument: 'AGENT',
    options: {
      '--scope': {
        member: 'scopes',
        value: 'SCOPE',
        repeatable: true,
        help: 'a scope that they may ask for (default: all of agent_scopes); repeatable',
      },
    },
    columns: ['allow', 'scopes'],
    list: { summary: 'Lists the agents that users may connect.', examples: ['agent list'] },
    add: {
      verb: 'allow',
      summary: 'Allows agents: those of a host, one by its whole client_id, or all with "*".',
      examples: ['agent allow claude.ai', 'agent allow vscode.dev --scope Platform/News'],
    },
    set: {
      summary: 'Changes which scopes agents may ask for, with immediate effect.',
      examples: ['agent set claude.ai --scope Platform/Market'],
    },
    remove: {
      summary: 'Allows agents no longer, and ends their grants.',
      examples: ['agent remove claude.ai --yes'],
      confirm: (agent) => `Allow ${agent} no longer, and end the grants of these agents?`,
      done: (agent) => `${agent} is not allowed any longer.`,
    },
  },
} as const satisfies Resource<AllowedAgent, DeclaredAgent>

function storeAgents({ definitions }: Pick<Stores, 'definitions'>): DefinitionStore<AllowedAgent> {
  return definitions<AllowedAgent>(AGENTS_TABLE)
}

function agentFaults({ allow, scopes = [] }: DeclaredAgent, { scopes: known }: Pick<Known, 'scopes'>): Fault[] {
  const fault = allowedAgentFault(allow)
  const rights = known.platformRights().filter((scope) => scope !== 'Platform/Admin')
  return [
    ...(fault === undefined ? [] : [{ path: 'allow', text: fault }]),
    ...repeated('scopes', scopes),
    ...scopes.flatMap((scope, index) =>
      rights.includes(scope) ? [] : [{ path: `scopes[${index}]`, text: unknownName('scope', scope, rights, index) }],
    ),
  ]
}

/** Grants of agents that are not allowed any longer end; tokens of others lose the scopes that their entry no longer has. */
async function limitClients(
  { stores, revocations }: ChangeInside,
  edit: (entries: readonly AllowedAgent[]) => readonly AllowedAgent[],
): Promise<void> {
  const ids = await stores.clients.listDocuments()
  if (ids.length === 0) return
  const entries = await storeAgents(stores).list()
  const [before, after] = [new AllowedAgents(entries), new AllowedAgents(edit(entries))]
  const all = new KnownScopes(await stores.apis.list()).platformRights()
  for (const id of ids) {
    const [was, is] = [before.find(id), after.find(id)]
    if (was === undefined && is === undefined) continue
    if (is === undefined) await revocations.revokeClient(id)
    else if (String(was?.scopes) !== String(is.scopes) || was === undefined)
      await revocations.limitClientScopes(id, is.scopes ?? all)
  }
}

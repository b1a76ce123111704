/** The agents that users may connect, those that they asked for, and those that they have connected. */
import { useState } from 'preact/hooks'
import type { AdminAgent } from '../../../../client/src/index.ts'
import { PagedTable } from '../../admin/list.tsx'
import { usePages } from '../../admin/pages.ts'
import { read, withQuery } from '../../admin/requests.ts'
import { confirmAndAttempt, readFaults } from '../../admin/tagged.ts'
import { gate } from '../../gate.ts'
import { server } from '../../server.ts'
import { href } from '../../shell/router.ts'
import { toast } from '../../shell/toasts.tsx'
import {
  Await,
  Button,
  ButtonLink,
  type DataColumn,
  dangerColumn,
  Empty,
  ErrorNotice,
  FormDialog,
  Notice,
  Page,
  Section,
  Table,
  TextField,
  Time,
  useLoad,
  useSubmit,
} from '../../ui/index.ts'
import { numberText } from '../../ui/number.ts'
import { RightBadges } from '../../ui/rights.tsx'
import { word } from '../../ui/word.ts'
import { ScopeChoice } from './scopes.tsx'
import { ApplicationTabs } from './tabs.tsx'

interface Refused {
  readonly at: string
  readonly target: string
  readonly details: { readonly client_id: string }
}

interface AgentGrant {
  readonly id: string
  readonly user: string
  readonly username: string | null
  readonly client_id: string
  readonly scopes: readonly string[]
  readonly created_at: string
  readonly expires_at: string
  /** Absent where no agents are served. */
  readonly last_call_at?: string | null
  readonly calls_today?: number
}

const MOST_REFUSED = 50
const PAGE = 50

export function Agents() {
  const [asked, setAsked] = useState<string>()
  const allowed = useLoad(
    async (signal) => (await read<{ items: readonly AdminAgent[] }>('/admin/agents', signal)).items,
    [],
  )
  const grants = usePages<AgentGrant>(withQuery('/admin/grants', { agent: 'true', limit: PAGE }))
  const allow = (
    <Button kind="primary" icon="plus" onClick={() => setAsked('')}>
      Allow agents
    </Button>
  )
  return (
    <Page title="Agents" bar={<ApplicationTabs current="agents" />} actions={allow}>
      {!server.agents && (
        <Notice>
          Agents are switched off on this server: the setting <code>mcp</code> switches them on.
        </Notice>
      )}
      <Await of={allowed} title="The agents could not be listed">
        {(entries) => (
          <>
            <Allowed entries={entries} onChange={allowed.reload} />
            <AskedFor entries={entries} onAllow={setAsked} />
          </>
        )}
      </Await>
      <Section title="Connected" about="What users have allowed to agents. Ending it takes effect at once.">
        <PagedTable
          of={grants}
          label="Connected agents"
          rowKey={({ id }) => id}
          columns={[
            { title: 'Agent', cell: ({ client_id: id }) => <AgentName id={id} /> },
            {
              title: 'User',
              cell: ({ user, username }) => <a href={href('people', user)}>{username ?? user}</a>,
            },
            { title: 'Rights', wide: true, cell: ({ scopes }) => <Rights scopes={scopes} /> },
            {
              title: 'Last call',
              cell: ({ last_call_at: at = null }) => (at === null ? '–' : <Time at={at} as="relative" />),
            },
            { title: 'Calls today', kind: 'number', cell: ({ calls_today: calls = 0 }) => numberText(calls) },
            { title: 'Since', wide: true, cell: ({ created_at: at }) => <Time at={at} as="relative" /> },
            { title: 'Until', wide: true, cell: ({ expires_at: at }) => <Time at={at} as="relative" /> },
            dangerColumn<AgentGrant>(
              () => word('End'),
              (grant) => end(grant, grants.reload),
            ),
          ]}
          empty={
            <Empty icon="application" title="No agent is connected">
              Users connect an assistant by giving it the address <code>{`${server.issuer}/mcp`}</code>.
            </Empty>
          }
        />
      </Section>
      {asked !== undefined && (
        <AllowAgents
          host={asked}
          onClose={() => setAsked(undefined)}
          onDone={() => {
            setAsked(undefined)
            allowed.reload()
          }}
        />
      )}
    </Page>
  )
}

function Allowed({ entries, onChange }: { readonly entries: readonly AdminAgent[]; readonly onChange: () => void }) {
  const remove = async ({ allow }: AdminAgent) => {
    const isRemoved = await confirmAndAttempt(
      {
        title: word(`Allow ${allow} no longer?`),
        text: 'The connections of these agents end at once, unless another entry allows them.',
        action: 'Remove',
      },
      () => gate.admin.agents.delete(allow),
      word('The entry was removed'),
    )
    if (isRemoved) onChange()
  }
  return (
    <Section
      title="Allowed"
      about="The agents that users may connect, by the host that publishes their description. The most precise entry counts."
    >
      {entries.length === 0 ? (
        <Empty
          icon="application"
          title="No agent is allowed yet"
          actions={
            <ButtonLink href={`${server.base}/docs/agents-signing-in`} target="_blank" icon="external">
              Documentation
            </ButtonLink>
          }
        >
          Allow the host of an assistant, such as claude.ai. Programs on a device without a document can connect as{' '}
          <code>gatehouse-agent</code>.
        </Empty>
      ) : (
        <Table
          label="Allowed agents"
          rows={entries}
          rowKey={({ allow }) => allow}
          columns={[...ALLOWED, dangerColumn(() => word('Remove'), remove)]}
        />
      )}
    </Section>
  )
}

const ALLOWED: readonly DataColumn<AdminAgent>[] = [
  { title: 'Agents', cell: ({ allow }) => (allow === '*' ? 'All agents' : <code>{allow}</code>) },
  {
    title: 'Rights',
    cell: ({ scopes }) =>
      scopes === undefined ? <span class="quiet">All that agents can have</span> : <RightBadges of={scopes} />,
  },
]

/** What users tried to connect, as long as no entry allows its host. */
function AskedFor({
  entries,
  onAllow,
}: {
  readonly entries: readonly AdminAgent[]
  readonly onAllow: (host: string) => void
}) {
  const refused = useLoad(
    async (signal) =>
      (await read<{ items: readonly Refused[] }>(`/admin/audit?event=agent.refused&limit=${MOST_REFUSED}`, signal))
        .items,
    [],
  )
  const { data = [] } = refused
  const known = new Set(entries.map(({ allow }) => allow))
  const latest = [...new Map(data.toReversed().map((entry) => [entry.target, entry])).values()].toReversed()
  const waiting = known.has('*') ? [] : latest.filter(({ target }) => !known.has(target))
  if (waiting.length === 0) return null
  return (
    <Section title="Asked for" about="Agents that users tried to connect, and that no entry allows.">
      <Table
        label="Agents that users asked for"
        rows={waiting}
        rowKey={({ target }) => target}
        columns={[
          { title: 'Host', cell: ({ target }) => <code>{target}</code> },
          { title: 'Client id', wide: true, cell: ({ details }) => <code>{details.client_id}</code> },
          { title: 'Last', cell: ({ at }) => <Time at={at} as="relative" /> },
          {
            title: 'Actions',
            kind: 'actions',
            cell: ({ target }) => (
              <Button size="small" onClick={() => onAllow(target)}>
                Allow
              </Button>
            ),
          },
        ]}
      />
    </Section>
  )
}

function AllowAgents({
  host,
  onClose,
  onDone,
}: {
  readonly host: string
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const [allow, setAllow] = useState(host)
  const [scopes, setScopes] = useState<readonly string[]>([])
  const { isBusy, error, submit } = useSubmit(async () => {
    await gate.admin.agents.create({ allow: allow.trim(), ...(scopes.length > 0 && { scopes }) })
    toast(word('The agents are allowed'))
    onDone()
  })
  const faults = readFaults(error)
  const isShown = faults !== undefined && [...faults.keys()].every((path) => path === 'allow')
  return (
    <FormDialog
      title="Allow agents"
      action="Allow"
      busy={isBusy}
      onClose={onClose}
      onSubmit={() => allow.trim() !== '' && submit()}
    >
      <TextField
        label="Host or client id"
        hint="A host such as claude.ai, a whole client id, or * for all agents."
        error={faults?.get('allow')}
        value={allow}
        onValue={setAllow}
        required
        autofocus
      />
      <ScopeChoice
        about="What they may ask for, if not all that agents can have. Users choose from it when they connect one."
        offered={({ name, resource }) => resource === 'platform' && name !== 'Platform/Admin'}
        scopes={scopes}
        onScopes={setScopes}
      />
      {error !== undefined && !isShown && <ErrorNotice error={error} title="The agents were not allowed" />}
    </FormDialog>
  )
}

/** An agent with a document is known by its host. */
function AgentName({ id }: { readonly id: string }) {
  const url = URL.canParse(id) ? new URL(id) : undefined
  return (
    <>
      {url?.host ?? id}
      {url !== undefined && <code class="application-id">{id}</code>}
    </>
  )
}

function Rights({ scopes }: { readonly scopes: readonly string[] }) {
  return <RightBadges of={scopes.filter((scope) => scope !== 'offline_access')} />
}

async function end({ id }: AgentGrant, onEnded: () => void): Promise<void> {
  const isEnded = await confirmAndAttempt(
    { title: 'End this connection?', text: 'The user can connect the agent again.', action: 'End' },
    () => gate.admin.grants.delete(id),
    word('The connection was ended'),
  )
  if (isEnded) onEnded()
}

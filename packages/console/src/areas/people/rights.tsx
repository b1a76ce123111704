/** What a user may do, as the platform would decide it now: scopes through roles, tables with their rows, topics. */
import { useState } from 'preact/hooks'
import { type Access, AccessBadge, reasonText, statusText } from '../../admin/licences.tsx'
import { withQuery } from '../../admin/requests.ts'
import { attempt } from '../../admin/tagged.ts'
import { gate } from '../../gate.ts'
import { href } from '../../shell/router.ts'
import { toastError } from '../../shell/toasts.tsx'
import {
  Await,
  Badge,
  Button,
  Facts,
  Notice,
  SearchField,
  Section,
  Select,
  Table,
  Time,
  useLoad,
} from '../../ui/index.ts'
import { RightList } from '../../ui/rights.tsx'
import { type Person, userPath } from './types.ts'

interface GrantedRights {
  readonly disabled: boolean
  readonly roles: readonly { readonly name: string; readonly scopes: readonly string[] }[]
  readonly scopes: readonly string[]
  readonly tables: TablePage | null
  readonly topics: readonly Controller[] | null
  readonly licences?: readonly Licence[]
}

/** What the user has of a product of market data, and why. */
interface Licence {
  readonly product: string
  readonly access: Access
  readonly reason: string
  readonly until?: string
  readonly status: Status
}

const STATUSES = ['undeclared', 'professional', 'non_professional'] as const
type Status = (typeof STATUSES)[number]

interface Controller {
  readonly controller: string
  readonly summary: string
  readonly topics: readonly Topic[]
}

interface Topic {
  readonly topic: string
  readonly summary: string
  readonly actions: readonly string[]
}

interface TablePage {
  readonly items: readonly TableRight[]
  readonly next: string | null
}

interface TableRight {
  readonly name: string
  readonly issystem: boolean
  readonly rights: readonly string[] | string
  readonly rowfilter: string | null
}

const PAGE = 50

export function Rights({ person }: { readonly person: Person }) {
  const [prefix, setPrefix] = useState('')
  const path = withQuery(userPath(person.id, 'rights'), { limit: PAGE, ...(prefix !== '' && { prefix }) })
  const rights = useLoad((signal) => gate.json(path, { signal }) as Promise<GrantedRights>, [path])
  return (
    <Await of={rights} title="The rights could not be loaded">
      {(found) => (
        <>
          {found.disabled && (
            <Notice kind="warning">
              {person.username} is disabled and can do nothing now. This is what they could do if they were enabled.
            </Notice>
          )}
          <Section title="Rights" about="By the role that gives them. An application may be allowed less.">
            {found.roles.length === 0 ? (
              <p class="quiet">The user has no role, and so no rights.</p>
            ) : (
              <Facts
                of={found.roles.map(({ name, scopes }) => [
                  name,
                  scopes.length === 0 ? <span class="quiet">no rights</span> : <RightList of={scopes} />,
                ])}
              />
            )}
          </Section>
          {found.licences?.[0] !== undefined && (
            <MarketData person={person} licences={found.licences} onChanged={rights.reload} />
          )}
          <Section title="Tables" about="What they can do with each table, and which rows they see.">
            {found.tables === null ? (
              <p class="quiet">No node runs the query service.</p>
            ) : (
              <>
                <div class="people-search">
                  <SearchField label="Tables whose names begin with" value={prefix} onValue={setPrefix} />
                </div>
                <Tables key={path} first={found.tables} />
              </>
            )}
          </Section>
          <Section title="Topics" about="Of the stream, by controller.">
            {found.topics === null ? (
              <p class="quiet">No node runs the streaming service.</p>
            ) : found.topics.length === 0 ? (
              <p class="quiet">None: the stream needs a platform scope.</p>
            ) : (
              <Facts of={found.topics.map(({ controller, topics }) => [controller, <TopicNames topics={topics} />])} />
            )}
          </Section>
        </>
      )}
    </Await>
  )
}

function TopicNames({ topics }: { readonly topics: readonly Topic[] }) {
  return (
    <span class="badges">
      {topics.map(({ topic, summary, actions }) => (
        <span key={topic} title={`${summary} (${actions.join(', ')})`}>
          <Badge>{topic}</Badge>
        </span>
      ))}
    </span>
  )
}

/** The first page, and what is added to it. */
function Tables({ first }: { readonly first: TablePage }) {
  const [page, setPage] = useState<TablePage>()
  const [busy, setBusy] = useState(false)
  const { items, next } = page ?? first
  const more = async (path: string) => {
    setBusy(true)
    try {
      const { tables } = (await gate.json(path)) as GrantedRights
      setPage({ items: [...items, ...(tables?.items ?? [])], next: tables?.next ?? null })
    } catch (error) {
      toastError(error)
    }
    setBusy(false)
  }
  if (items.length === 0) return <p class="quiet">None.</p>
  return (
    <>
      <Table
        label="Tables"
        rows={items}
        rowKey={({ name }) => name}
        columns={[
          { title: 'Table', cell: ({ name }) => <a href={href('tables', name)}>{name}</a> },
          {
            title: 'May',
            cell: ({ rights }) => (
              <span class="badges">
                {[rights].flat().map((right) => (
                  <Badge key={right}>{String(right).toLowerCase()}</Badge>
                ))}
              </span>
            ),
          },
          {
            title: 'Rows',
            cell: ({ rights, rowfilter: filter }) =>
              !rights.includes('select') ? (
                <span class="quiet">none: the read scope is missing</span>
              ) : filter === null ? (
                <span class="quiet">all</span>
              ) : (
                <code>{filter}</code>
              ),
          },
        ]}
      />
      {next !== null && (
        <p class="list-more">
          <Button busy={busy} onClick={() => more(next)}>
            Show more
          </Button>
        </p>
      )}
    </>
  )
}

function MarketData({
  person,
  licences,
  onChanged,
}: {
  readonly person: Person
  readonly licences: readonly Licence[]
  readonly onChanged: () => void
}) {
  const setStatus = async (status: string) => {
    const body = { professional: status === 'undeclared' ? null : status === 'professional' }
    const work = () => gate.request(userPath(person.id, 'professional'), { method: 'PUT', body })
    if (await attempt(work, 'The status was recorded')) onChanged()
  }
  return (
    <Section title="Market data" about="Products, as they are decided now.">
      <Table
        label="Market data"
        rows={licences}
        rowKey={({ product }) => product}
        columns={[
          { title: 'Product', cell: ({ product }) => product },
          { title: 'Access', cell: ({ access }) => <AccessBadge of={access} /> },
          { title: 'Why', cell: ({ reason }) => reasonText(reason) },
          { title: 'Until', cell: ({ until }) => until !== undefined && <Time at={until} as="date" /> },
        ]}
      />
      <Select
        label="Status"
        hint="What is recorded here cannot be changed by the user. Who has not declared it counts as a professional."
        value={licences[0]?.status ?? 'undeclared'}
        onValue={(status) => void setStatus(status)}
        choices={STATUSES.map((value) => ({ value, title: statusText(value) }))}
      />
    </Section>
  )
}

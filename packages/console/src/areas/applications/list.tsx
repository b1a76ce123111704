/** The list of applications, and the search in it. */
import { SCOPES } from 'gatehouse-protocol'
import { PagedTable } from '../../admin/list.tsx'
import { usePages } from '../../admin/pages.ts'
import { withQuery } from '../../admin/requests.ts'
import { TYPING_MS, useSearchText } from '../../admin/search.ts'
import { href } from '../../shell/router.ts'
import { Badge, ButtonLink, type DataColumn, Empty, Page, SearchField } from '../../ui/index.ts'
import { RightBadges } from '../../ui/rights.tsx'
import { type Application, clientKind, kindInfo } from './kinds.ts'
import { ApplicationTabs } from './tabs.tsx'

const PAGE = 50

export function Applications({ query }: { readonly query: URLSearchParams }) {
  const { text, setText, search } = useSearchText(query, (wanted) => href('applications', { search: wanted }))
  const clients = usePages<Application>(withQuery('/admin/clients', { limit: PAGE, search }), TYPING_MS)
  const connect = (
    <ButtonLink kind="primary" icon="plus" href={href('applications', 'new')}>
      Connect an application
    </ButtonLink>
  )
  return (
    <Page title="Applications" bar={<ApplicationTabs current="applications" />} actions={connect}>
      <div class="applications-search">
        <SearchField label="Search by name or client id" value={text} onValue={setText} autofocus />
      </div>
      <PagedTable
        of={clients}
        label="Applications"
        columns={COLUMNS}
        rowKey={(client) => client.client_id}
        rowHref={(client) => href('applications', client.client_id)}
        empty={
          search === undefined ? (
            <Empty icon="application" title="No application is connected yet" actions={connect}>
              An application signs people in, or uses the platform on its own behalf.
            </Empty>
          ) : (
            <Empty icon="search" title={`No application is called “${search}”`}>
              Search matches any part of the name or client id.
            </Empty>
          )
        }
      />
    </Page>
  )
}

const COLUMNS: readonly DataColumn<Application>[] = [
  {
    title: 'Application',
    cell: (client) => (
      <>
        {client.client_name ?? client.client_id}
        <code class="application-id">{client.client_id}</code>
      </>
    ),
  },
  { title: 'Kind', wide: true, cell: (client) => <span class="whole">{kindInfo(clientKind(client)).title}</span> },
  {
    title: 'Rights',
    wide: true,
    cell: ({ scope = '' }) => <Rights scopes={scope.split(' ').filter((name) => name.includes('/'))} />,
  },
  { title: 'State', cell: (client) => <ApplicationBadges client={client} /> },
]

/** Built into the server; an application that has them all is a common case. */
const ALL_RIGHTS: readonly string[] = SCOPES.filter((name) => name.includes('/'))

function Rights({ scopes }: { readonly scopes: readonly string[] }) {
  if (scopes.length === 0) return <span class="quiet">None</span>
  const others = scopes.filter((scope) => !ALL_RIGHTS.includes(scope))
  const hasAll = ALL_RIGHTS.every((right) => scopes.includes(right))
  return (
    <span class="application-rights">
      {hasAll && <span title={scopes.join(' ')}>All built-in rights</span>}
      <RightBadges of={hasAll ? others : scopes} />
    </span>
  )
}

export function ApplicationBadges({ client }: { readonly client: Application }) {
  return (
    <span class="badges">
      {client.built_in === true ? (
        <Badge>Built in</Badge>
      ) : client.disabled === true ? (
        <Badge kind="danger">Disabled</Badge>
      ) : (
        <Badge kind="good">Enabled</Badge>
      )}
    </span>
  )
}

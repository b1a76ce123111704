/** The list of users, and the search in it. */
import { PagedTable } from '../../admin/list.tsx'
import { usePages } from '../../admin/pages.ts'
import { withQuery } from '../../admin/requests.ts'
import { TYPING_MS, useSearchText } from '../../admin/search.ts'
import { gate } from '../../gate.ts'
import { go, href } from '../../shell/router.ts'
import {
  Badge,
  ButtonLink,
  count,
  type DataColumn,
  Empty,
  Page,
  SearchField,
  Select,
  Time,
  useLoad,
} from '../../ui/index.ts'
import { loadRoles } from './role-choice.tsx'
import { PeopleTabs } from './tabs.tsx'
import { fullName, type Person } from './types.ts'

const PAGE = 50

export function Users({ query }: { readonly query: URLSearchParams }) {
  const role = query.get('role') ?? undefined
  const { text, setText, search } = useSearchText(query, (wanted) => href('people', { search: wanted }))
  const users = usePages<Person>(
    withQuery('/admin/users', { limit: PAGE, ...(search === undefined ? { role } : { search }) }),
    TYPING_MS,
  )
  return (
    <Page
      title="People"
      afterTitle={<Total />}
      bar={<PeopleTabs current="users" />}
      actions={
        <>
          <ButtonLink icon="people" href={href('people', 'new', 'many')}>
            Invite many
          </ButtonLink>
          <ButtonLink kind="primary" icon="plus" href={href('people', 'new')}>
            Add a person
          </ButtonLink>
        </>
      }
    >
      <div class="people-search">
        <SearchField label="Search by username, name or e-mail address" value={text} onValue={setText} autofocus />
        <RoleFilter
          role={search === undefined ? role : undefined}
          onRole={(wanted) => {
            setText('')
            go(href('people', { role: wanted }))
          }}
        />
      </div>
      <PagedTable
        of={users}
        label="Users"
        columns={COLUMNS}
        rowKey={({ id }) => id}
        rowHref={({ id }) => href('people', id)}
        empty={search === undefined ? <NoUsers role={role} /> : <NoMatch search={search} />}
      />
    </Page>
  )
}

/** The server searches by text or by role. */
function RoleFilter({
  role,
  onRole,
}: {
  readonly role: string | undefined
  readonly onRole: (role: string | undefined) => void
}) {
  const { data: roles = [] } = useLoad(loadRoles, [])
  const names = [...new Set([...roles.map(({ name }) => name), ...(role === undefined ? [] : [role])])]
  return (
    <Select
      label="Role"
      hideLabel
      value={role ?? ''}
      onValue={(value) => onRole(value === '' ? undefined : value)}
      choices={[{ value: '', title: 'All roles' }, ...names]}
    />
  )
}

const COLUMNS: readonly DataColumn<Person>[] = [
  { title: 'Username', cell: (user) => <UserNames user={user} /> },
  { title: 'Name', wide: true, cell: (user) => fullName(user) ?? <span class="quiet">–</span> },
  { title: 'E-mail', wide: true, cell: ({ email }) => email ?? <span class="quiet">–</span> },
  { title: 'Roles', wide: true, cell: ({ roles }) => <RoleBadges roles={roles} /> },
  { title: 'State', cell: (user) => <StateBadges user={user} /> },
  {
    title: 'Last seen',
    wide: true,
    cell: ({ seen_at: at }) => (at == null ? <span class="quiet">–</span> : <Time at={at} as="relative" />),
  },
  { title: 'Created', wide: true, cell: ({ created_at: at }) => <Time at={at} as="date" /> },
]

/** On a telephone the name is below the username, since there is no room for its column. */
function UserNames({ user }: { readonly user: Person }) {
  return (
    <>
      {user.username}
      <span class="narrow-name">{fullName(user)}</span>
    </>
  )
}

export function RoleBadges({ roles }: { readonly roles: readonly string[] }) {
  if (roles.length === 0) return <span class="quiet">none</span>
  return (
    <span class="badges">
      {roles.map((role) => (
        <Badge key={role}>{role}</Badge>
      ))}
    </span>
  )
}

/** Whether the user can sign in, and with what. */
export function StateBadges({ user }: { readonly user: Person }) {
  return (
    <span class="badges">
      {user.disabled ? (
        <Badge kind="danger">Disabled</Badge>
      ) : user.has_password ? (
        <Badge kind="good">Enabled</Badge>
      ) : (
        <Badge kind="warning">No password</Badge>
      )}
      {user.must_change_password && <Badge kind="warning">New password due</Badge>}
      {user.has_second_factor && <Badge kind="accent">2FA</Badge>}
    </span>
  )
}

/** The number of users, up to a bound. The list does not wait for it. */
function Total() {
  const { data } = useLoad(async (signal) => {
    for await (const { name, count: number, more } of gate.admin.counts.list({}, { signal }))
      if (name === 'users') return `${count(Number(number))}${more === true ? '+' : ''}`
    return ''
  }, [])
  return data === undefined || data === '' ? null : <Badge>{data}</Badge>
}

function NoUsers({ role }: { readonly role: string | undefined }) {
  if (role !== undefined)
    return (
      <Empty icon="people" title={`No user has the role ${role}`}>
        Assign it on the page of a user.
      </Empty>
    )
  return (
    <Empty icon="people" title="There are no users yet">
      Invite a person with a one-time link, or create a user with a password.
    </Empty>
  )
}

function NoMatch({ search }: { readonly search: string }) {
  return (
    <Empty icon="search" title={`No user is called “${search}”`}>
      Search matches the beginning of usernames, names, family names and e-mail addresses.
    </Empty>
  )
}

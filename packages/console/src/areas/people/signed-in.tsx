/** The users who are signed in now, on all nodes: browser sessions, grants of applications, streaming connections. */
import { useState } from 'preact/hooks'
import { PagedTable } from '../../admin/list.tsx'
import { usePages } from '../../admin/pages.ts'
import { withQuery } from '../../admin/requests.ts'
import { confirmAndAttempt } from '../../admin/tagged.ts'
import { gate, may } from '../../gate.ts'
import { go, href } from '../../shell/router.ts'
import {
  Badge,
  type DataColumn,
  dangerColumn,
  Empty,
  Forbidden,
  IconButton,
  Page,
  Segments,
  Time,
} from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { PeopleTabs } from './tabs.tsx'
import type { Connection, Grant, Session } from './types.ts'

const PAGE = 50
const WHAT = ['sessions', 'applications', 'streams'] as const
type What = (typeof WHAT)[number]

export function SignedIn({ what, query }: { readonly what: string | undefined; readonly query: URLSearchParams }) {
  const shown = WHAT.find((name) => name === what) ?? 'sessions'
  const [round, setRound] = useState(0)
  const user = query.get('user') ?? undefined
  const path = (of: string) => withQuery(of, { user, limit: PAGE })
  return (
    <Page
      title="Signed in now"
      bar={<PeopleTabs current="signed-in" />}
      actions={<IconButton icon="refresh" label="Load again" onClick={() => setRound((was) => was + 1)} />}
    >
      <div class="people-search">
        <Segments<What>
          label="What is listed"
          value={shown}
          onValue={(value) => go(href('people', 'signed-in', value))}
          choices={[
            { value: 'sessions', title: 'Browsers' },
            { value: 'applications', title: 'Applications' },
            { value: 'streams', title: 'Streams' },
          ]}
        />
      </div>
      {shown === 'sessions' && <SessionTable key={round} path={path('/admin/sessions')} />}
      {shown === 'applications' && <GrantTable key={round} path={path('/admin/grants')} />}
      {shown === 'streams' &&
        (may('Platform/Admin') ? (
          <ConnectionTable key={round} path={path('/admin/streams')} />
        ) : (
          <Forbidden rights={['Platform/Admin']} />
        ))}
    </Page>
  )
}

interface ListProps {
  readonly path: string
  /** Of one user: their name is on the page already. */
  readonly ofOne?: boolean
}

function userColumn<Item extends { readonly username?: string | null; readonly user?: string | null }>(
  ofOne: boolean,
): readonly DataColumn<Item>[] {
  if (ofOne) return []
  return [
    {
      title: 'User',
      cell: ({ username, user }) => (user ? <a href={href('people', user)}>{username ?? user}</a> : '–'),
    },
  ]
}

export function SessionTable({ path, ofOne = false }: ListProps) {
  const sessions = usePages<Session>(path)
  const end = async ({ id, user = '', username, user_agent: agent }: Session) => {
    const who = username ?? word('the user')
    const isEnded = await confirmAndAttempt(
      {
        title: 'End this session?',
        text: `${username ?? 'The user'} is signed out in ${browserName(agent)}, and its tokens are revoked.`,
        action: 'End the session',
      },
      () => gate.admin.of(user, 'sessions').delete(id),
      `The session of ${who} was ended`,
    )
    if (isEnded) sessions.reload()
  }
  return (
    <PagedTable
      of={sessions}
      label="Browser sessions"
      rowKey={({ id }) => id}
      columns={[
        ...userColumn<Session>(ofOne),
        {
          title: 'Browser',
          cell: (session) => <span title={session.user_agent}>{browserName(session.user_agent)}</span>,
        },
        { title: 'Address', wide: true, cell: ({ address }) => address },
        { title: 'Signed in by', wide: true, cell: ({ methods }) => methodsText(methods) },
        { title: 'Since', wide: true, cell: ({ created_at: at }) => <Time at={at} as="relative" /> },
        { title: 'Last seen', cell: ({ seen_at: at }) => <Time at={at} as="relative" /> },
        dangerColumn(() => word('End'), end),
      ]}
      empty={
        ofOne ? (
          <p class="quiet">None is open.</p>
        ) : (
          <Empty icon="eye" title="No user is signed in with a browser">
            A session begins when someone signs in, and ends when they sign out or it expires.
          </Empty>
        )
      }
    />
  )
}

function GrantTable({ path }: ListProps) {
  const grants = usePages<Grant>(path)
  const revoke = async ({ id, client_id: client, username }: Grant) => {
    const who = username ?? word('the user')
    const isRevoked = await confirmAndAttempt(
      {
        title: `Revoke the access of ${client} for ${who}?`,
        text: 'All tokens of this grant are revoked at once.',
        action: 'Revoke',
      },
      () => gate.admin.grants.delete(id),
      `Access of ${client} for ${who} was revoked`,
    )
    if (isRevoked) grants.reload()
  }
  return (
    <PagedTable
      of={grants}
      label="Grants"
      rowKey={({ id }) => id}
      columns={[
        ...userColumn<Grant>(false),
        {
          title: 'Application',
          cell: (grant) => <a href={href('applications', grant.client_id)}>{grant.client_id}</a>,
        },
        { title: 'Scopes', wide: true, cell: ({ scopes }) => <span class="quiet">{scopes.join(' ')}</span> },
        {
          title: 'Lasts',
          wide: true,
          cell: ({ offline }) =>
            offline ? <Badge kind="warning">without the session</Badge> : <Badge>with the session</Badge>,
        },
        { title: 'Since', wide: true, cell: ({ created_at: at }) => <Time at={at} as="relative" /> },
        dangerColumn(() => word('Revoke'), revoke),
      ]}
      empty={
        <Empty icon="application" title="No application is acting for a user">
          Applications that a user has allowed to act for them are listed here, with their tokens.
        </Empty>
      }
    />
  )
}

export function ConnectionTable({ path, ofOne = false }: ListProps) {
  const connections = usePages<Connection>(path)
  const kick = async ({ id, username, address }: Connection) => {
    const isClosed = await confirmAndAttempt(
      {
        title: 'Close this connection?',
        text: `The connection of ${username ?? 'an unknown user'} from ${address} is closed with all its subscriptions. The session continues: to lock a user out, disable them.`,
        action: 'Close it',
      },
      () => gate.admin.streams.delete(id),
      'The connection was closed',
    )
    if (isClosed) connections.reload()
  }
  return (
    <PagedTable
      of={connections}
      label="Streaming connections"
      rowKey={({ id }) => id}
      columns={[
        ...userColumn<Connection>(ofOne),
        { title: 'Application', cell: ({ client }) => client ?? <span class="quiet">not signed in</span> },
        { title: 'Address', wide: true, cell: ({ address }) => address },
        { title: 'Node', wide: true, cell: ({ node }) => <code>{node}</code> },
        { title: 'Subscriptions', wide: true, kind: 'number', cell: ({ subscriptions }) => subscriptions },
        { title: 'Since', wide: true, cell: ({ opened_at: at }) => <Time at={at} as="relative" /> },
        dangerColumn(() => word('Close'), kick),
      ]}
      empty={
        ofOne ? (
          <p class="quiet">None is open.</p>
        ) : (
          <Empty icon="stream" title="No streaming connection is open">
            Clients that open a stream are listed here, on all nodes.
          </Empty>
        )
      }
    />
  )
}

/** Methods of RFC 8176, in the order in which they are listed. */
const METHODS: readonly (readonly [string, string])[] = [
  ['pwd', word('password')],
  ['otp', word('one-time code')],
  ['pop', word('passkey')],
]
/** The methods above, and those that they imply. */
const NAMED_OR_IMPLIED = new Set(['mfa', 'user', ...METHODS.map(([name]) => name)])

function methodsText(methods: readonly string[]): string {
  const known = METHODS.filter(([name]) => methods.includes(name)).map(([, title]) => title)
  return [...known, ...methods.filter((name) => !NAMED_OR_IMPLIED.has(name))].join(', ')
}

const BROWSERS = [
  ['Edge', /Edg\//],
  ['Opera', /OPR\//],
  ['Firefox', /Firefox\//],
  ['Chrome', /Chrom(e|ium)\//],
  ['Safari', /Safari\//],
  ['curl', /^curl\//],
] as const
const SYSTEMS = [
  ['iPhone', /iPhone/],
  ['iPad', /iPad/],
  ['Android', /Android/],
  ['Windows', /Windows/],
  ['macOS', /Mac OS X/],
  ['Linux', /Linux|X11/],
] as const

/** What people call it; the whole text is shown when pointed at. */
function browserName(agent: string): string {
  const find = (table: typeof BROWSERS | typeof SYSTEMS) => table.find(([, pattern]) => pattern.test(agent))?.[0]
  const [browser, system] = [find(BROWSERS), find(SYSTEMS)]
  if (browser === undefined) return agent === '' ? word('an unknown browser') : agent.slice(0, 40)
  return system === undefined ? browser : word(`${browser} on ${system}`)
}

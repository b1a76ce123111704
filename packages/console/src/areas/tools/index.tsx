/** The area Tools: how psql, Python, Grafana and others connect to this server. */
import { useState } from 'preact/hooks'
import { may, user } from '../../gate.ts'
import { server } from '../../server.ts'
import type { AreaProps } from '../../shell/area.ts'
import { href } from '../../shell/router.ts'
import { ButtonLink, Code, Empty, Notice, Page, Segments, Tabs } from '../../ui/index.ts'
import { Connections } from './connections.tsx'
import { type SignInWay, toolSnippets } from './snippets.ts'
import './tools.css'

interface Way {
  readonly value: SignInWay
  readonly title: string
  readonly about: string
}

const WAYS: readonly Way[] = [
  {
    value: 'token',
    title: 'Access token',
    about:
      'For any tool. The user is token, and the password is an access token; gatehouse token, in a clone ./gatehouse token, prints one for your login. The connection ends when the token expires.',
  },
  {
    value: 'device',
    title: 'Browser sign-in',
    about:
      'For psql 18 and later, with the package libpq-oauth. psql shows a code, which you confirm on a page of this server.',
  },
  {
    value: 'client',
    title: 'Client secret',
    about:
      'For programs without a person, such as Grafana and Metabase. The user is the id of an application with the grant client_credentials, and the password is its secret.',
  },
  {
    value: 'password',
    title: 'Password',
    about: 'With your name and password. An account with a second factor needs an access token instead.',
  },
]

export default function Tools({ path: [part] }: AreaProps) {
  const isOperator = may('Platform/Admin')
  const showsConnections = part === 'connections' && isOperator
  const tabs = [
    { title: 'Connect', href: href('tools'), current: !showsConnections },
    { title: 'Connections', href: href('tools', 'connections'), current: showsConnections },
  ]
  return (
    <Page
      title={showsConnections ? 'Connections' : 'Connect a tool'}
      bar={isOperator && <Tabs label="Tools" tabs={tabs} />}
    >
      {showsConnections ? <Connections /> : <Connect />}
    </Page>
  )
}

function Connect() {
  const { wire, issuer } = server
  const [chosen, setChosen] = useState<SignInWay>('token')
  if (wire === undefined)
    return (
      <Empty
        icon="link"
        title="Tools cannot connect to this server"
        actions={
          <ButtonLink href={`${server.base}/docs/wire`} target="_blank" icon="external">
            Documentation
          </ButtonLink>
        }
      >
        An operator can open a port for them with the setting wire_port.
      </Empty>
    )
  const ways = WAYS.filter(({ value }) => value !== 'password' || wire.passwords)
  const way = ways.find(({ value }) => value === chosen) ?? ways[0]
  if (way === undefined) return null
  const username = user.value?.preferred_username
  const place = { ...wire, issuer, username: typeof username === 'string' ? username : 'USERNAME' }
  return (
    <div class="tools-page">
      <p>
        Tools that speak PostgreSQL's protocol see the tables that you may read, with your rights. The database is
        gatehouse.
      </p>
      <Segments
        label="Sign-in"
        value={way.value}
        onValue={(value) => setChosen(ways.find((each) => each.value === value)?.value ?? 'token')}
        choices={ways.map(({ value, title }) => ({ value, title }))}
      />
      <p>{way.about}</p>
      {toolSnippets(way.value, place).map(({ title, text }) => (
        <Code key={title} label={title} text={text} />
      ))}
      {!wire.tls && (
        <Notice>The server has no TLS certificate of its own, so tools can connect only on the same machine.</Notice>
      )}
    </div>
  )
}

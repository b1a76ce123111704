/** How tools connect by PostgreSQL's protocol to this server: what to paste, with its address filled in. */

export interface Place {
  readonly host: string
  readonly port: number
  readonly tls: boolean
  readonly issuer: string
  /** The name of the user who reads the page. */
  readonly username: string
}

export type SignInWay = 'device' | 'token' | 'client' | 'password'

export interface Snippet {
  readonly title: string
  readonly text: string
}

const DATABASE = 'gatehouse'

/** The user that a way to sign in needs. */
function requiredUser(way: SignInWay, { username }: Place): string {
  switch (way) {
    case 'device':
      return 'oauth'
    case 'token':
      return 'token'
    case 'client':
      return 'CLIENT_ID'
    case 'password':
      return username
  }
}

export function toolSnippets(way: SignInWay, place: Place): readonly Snippet[] {
  return way === 'device'
    ? [devicePsql(place)]
    : [psql, python, grafana, uri, environment, jdbc].map((snippet) => snippet(way, place))
}

/** psql 18 and later. */
function devicePsql(place: Place): Snippet {
  const debug = place.issuer.startsWith('http:') ? 'PGOAUTHDEBUG=UNSAFE ' : ''
  const words = [...connectionWords('device', place), `oauth_issuer=${place.issuer}`, 'oauth_client_id=gatehouse-tools']
  return { title: 'psql 18', text: `${debug}psql "${words.join(' ')}"` }
}

function psql(way: SignInWay, place: Place): Snippet {
  const password = way === 'token' ? `PGPASSWORD=$(gatehouse token --server ${place.issuer}) ` : ''
  return { title: 'psql', text: `${password}psql "${connectionWords(way, place).join(' ')}"` }
}

function connectionWords(way: SignInWay, place: Place): string[] {
  const { host, port, tls } = place
  return [
    `host=${host}`,
    `port=${port}`,
    `dbname=${DATABASE}`,
    `user=${requiredUser(way, place)}`,
    ...(tls ? ['sslmode=verify-full', 'sslrootcert=system'] : []),
  ]
}

/** For pandas too; psycopg takes the password from the environment. */
function python(way: SignInWay, place: Place): Snippet {
  const lines = [
    '# pip install sqlalchemy "psycopg[binary]"; export PGPASSWORD=…',
    'import sqlalchemy',
    `engine = sqlalchemy.create_engine("${uri(way, place).text.replace(':', '+psycopg:')}")`,
  ]
  return { title: 'Python', text: lines.join('\n') }
}

/** The fields of its data source PostgreSQL. */
function grafana(way: SignInWay, place: Place): Snippet {
  const { host, port, tls } = place
  const lines = [
    `Host URL: ${host}:${port}`,
    `Database name: ${DATABASE}`,
    `Username: ${requiredUser(way, place)}`,
    `TLS/SSL Mode: ${tls ? 'verify-full' : 'disable'}`,
  ]
  return { title: 'Grafana', text: lines.join('\n') }
}

function uri(way: SignInWay, place: Place): Snippet {
  const user = encodeURIComponent(requiredUser(way, place))
  const query = place.tls ? '?sslmode=verify-full' : ''
  return { title: 'URI', text: `postgresql://${user}@${place.host}:${place.port}/${DATABASE}${query}` }
}

function environment(way: SignInWay, place: Place): Snippet {
  const { host, port, tls, issuer } = place
  const lines = [
    `export PGHOST=${host}`,
    `export PGPORT=${port}`,
    `export PGDATABASE=${DATABASE}`,
    `export PGUSER=${requiredUser(way, place)}`,
    ...(tls ? ['export PGSSLMODE=verify-full', 'export PGSSLROOTCERT=system'] : []),
    ...(way === 'token' ? [`export PGPASSWORD=$(gatehouse token --server ${issuer})`] : []),
  ]
  return { title: 'Environment', text: lines.join('\n') }
}

function jdbc(way: SignInWay, place: Place): Snippet {
  const { host, port, tls } = place
  const user = encodeURIComponent(requiredUser(way, place))
  const ssl = tls ? '&sslmode=verify-full' : ''
  return { title: 'JDBC', text: `jdbc:postgresql://${host}:${port}/${DATABASE}?user=${user}${ssl}` }
}

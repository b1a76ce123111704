/** What `serve --demo` prints: where the services are, and lines to paste that work as they stand. */
import type { Config } from '../config.ts'
import { VERSION } from '../protocol/version.ts'

export interface BannerFacts {
  readonly issuer: string
  readonly config: Pick<Config, 'services' | 'data' | 'databaseUrl' | 'port'>
}

export function demoBanner({ issuer, config }: BannerFacts): string {
  const stream = `${issuer.replace(/^http/, 'ws')}/Platform`
  return `Gatehouse ${VERSION} is running; Ctrl-C stops it.

  Identity   ${issuer}
  Streaming  ${stream}
  Query      ${issuer}/query

Lines to paste into another terminal, in this order:

${pasteLines(issuer)
  .map((line) => `  ${line}`)
  .join('\n')}

Demonstration data is on: alice / wonderland-1 and admin / admin-please-change. These passwords are
known to everybody, so it is served on loopback only. Everything is kept in ${config.data}.
`
}

/** Each is one line for a POSIX shell with curl, run in the folder of the clone; the later ones use the token of the second. */
export function pasteLines(issuer: string): string[] {
  const bearer = '-H "Authorization: Bearer $TOKEN"'
  const elsewhere = issuer === 'http://localhost:5080' ? '' : ` ${issuer}`
  return [
    `curl -s ${issuer}/.well-known/openid-configuration; echo`,
    `TOKEN=$(curl -s ${issuer}/connect/token -d grant_type=password -d client_id=demo-cli -d username=alice -d password=wonderland-1 | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/'); echo "$TOKEN"`,
    `curl -s ${issuer}/query ${bearer} -H 'Content-Type: text/plain; charset=utf-8' -d 'select name, issystem from cataloguetables'; echo`,
    `curl -s '${issuer}/Query/trades/Select?columns=symbol,side,quantity,price&limit=3' ${bearer} -H 'Content-Type: application/json' -d '[{"ColumnName":"quantity","Operator":">","Value":300}]'; echo`,
    `npx gatehouse stream${elsewhere} --username alice`,
  ]
}

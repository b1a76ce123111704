/** The banner of `serve --demo`: the addresses of the services, and commands to paste. */

import { VERSION } from 'gatehouse-protocol'
import type { Config } from '../../config/config.ts'
import { programName } from '../program.ts'

export function demoBanner({
  issuer,
  wirePort,
  config,
}: {
  issuer: string
  wirePort: number | undefined
  config: Pick<Config, 'data' | 'demoMarket' | 'console'>
}): string {
  const hasMarket = config.demoMarket
  const stream = `${issuer.replace(/^http/, 'ws')}/Platform`
  return `Gatehouse ${VERSION} is running; Ctrl-C stops it.

${
  config.console
    ? `  Console    ${issuer}/console
`
    : ''
}  Identity   ${issuer}
  Streaming  ${stream}
  Query      ${issuer}/query
${wirePort === undefined ? '' : `  Tools      psql "host=localhost port=${wirePort} user=alice dbname=gatehouse"\n`}
Paste these lines into another terminal, in this order${hasMarket ? '; the market is live, so the fifth and sixth keep updating' : ''}:

${pasteLines(issuer)
  .map((line) => `  ${line}`)
  .join('\n')}

Demo users: alice / wonderland-1 and admin / admin-please-change${hasMarket ? '; dinah / looking-glass-1 sees the market 30 s late' : ''}.
Their passwords are public, so the server listens on loopback only. All data is in ${config.data}.
`
}

/** What a first start says in a terminal. */
export function administratorBanner({ url, expiresAt }: { url: string; expiresAt: number }): string {
  return `
There is no administrator yet. Open this link to create one; it works once, until ${new Date(expiresAt).toISOString()}.
The first to open it becomes the administrator, so keep it secret. The next start prints another one.

  ${url}

`
}

/** Commands for a POSIX shell with curl, run in this folder; later ones use the token of the second. */
export function pasteLines(issuer: string, program = programName()): string[] {
  const bearer = '-H "Authorization: Bearer $TOKEN"'
  const address = issuer === 'http://localhost:5080' ? '' : ` ${issuer}`
  const server = address === '' ? '' : ` --server${address}`
  return [
    `curl -s ${issuer}/.well-known/openid-configuration; echo`,
    `TOKEN=$(curl -s ${issuer}/connect/token -d grant_type=password -d client_id=demo-cli -d username=alice -d password=wonderland-1 | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/'); echo "$TOKEN"`,
    `curl -s ${issuer}/query ${bearer} -H 'Content-Type: text/plain; charset=utf-8' -d 'select name, issystem from cataloguetables'; echo`,
    `curl -s '${issuer}/Query/trades/Select?columns=symbol,side,quantity,price&limit=3' ${bearer} -H 'Content-Type: application/json' -d '[{"ColumnName":"quantity","Operator":">","Value":300}]'; echo`,
    `curl -sN --max-time 10 ${issuer}/query ${bearer} -H 'Accept: text/event-stream' -H 'Content-Type: text/plain; charset=utf-8' -d "select symbol, last(price, executed_at) as price, sum(quantity) as volume from trades where symbol in ('ACME', 'BOLT', 'CORN') group by symbol"`,
    `${program} query${server} --username alice --live "select symbol, last(bid, quoted_at) as bid, last(ask, quoted_at) as ask from quotes where symbol in ('ACME', 'BOLT', 'CORN', 'DYNE', 'ECHO') group by symbol order by symbol"`,
    `${program} stream${address} --username alice`,
  ]
}

/** What the simulation declares: three products over tables and a feed, two people without access at first, and a program that writes. */
import { DELAYS, PEOPLE, PRODUCTS, VENUES } from './ledger.ts'

const TABLES = ['ticks', 'latest']

export const SIMULATED = `
feeds:
  - { name: Numbers, read: Platform/Market, write: Platform/Market, keep: all, history: { messages: 10000 } }
products:
${PRODUCTS.map((name) => {
  const venues = Object.keys(VENUES).filter((venue) => VENUES[venue]?.includes(name))
  const covers = TABLES.map((table) => `{ table: ${table}, column: venue, values: [${venues.join(', ')}] }`)
  const feed = `{ feed: Numbers, topics: [${venues.join(', ')}] }`
  return `  - { name: ${name}, delay: "${DELAYS[name] / 1000} seconds", covers: [${[...covers, feed].join(', ')}] }`
}).join('\n')}
  - { name: PLACES, default: realtime, simultaneous: 2 }
entitlements:
${PEOPLE.flatMap((user) => PRODUCTS.map((product) => `  - { product: ${product}, user: ${user}, access: none }`)).join('\n')}
${PRODUCTS.map((product) => `  - { product: ${product}, client: handler, access: realtime, kind: exempt }`).join('\n')}
`

export const DEFINED: readonly string[] = [
  'CREATE TABLE ticks (id Integer PRIMARY KEY, venue Text NOT NULL, tag Text NOT NULL, note Text)',
  'CREATE TABLE latest (venue Text PRIMARY KEY, number Integer NOT NULL)',
].map((text) => `${text} READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'`)

export const DEFINED_AFTER: readonly string[] = [
  'CREATE INDEX ticks_venue ON ticks (venue, id)',
  'CREATE VIEW newest AS SELECT venue, max(id) AS number FROM ticks GROUP BY venue',
  "CREATE MATERIALIZED VIEW kept READ SCOPE 'Platform/Market' AS SELECT venue, max(id) AS number FROM ticks GROUP BY venue",
]

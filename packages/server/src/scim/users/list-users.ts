/** GET /Users and POST /Users/.search: lists of users, filtered by the database where it can. */
import type { ScimReads, ShownUser } from '../../accounts/scim-reads.ts'
import type { Context } from '../../http/context.ts'
import { MOST_ROWS, openReads, type ScimEnv } from '../environment.ts'
import type { Filter } from '../filter/ast.ts'
import { checkPaths } from '../filter/check-paths.ts'
import { type JsonObject, matches } from '../filter/match.ts'
import { EVERYBODY, type Narrowed, narrow } from '../filter/narrow.ts'
import { parseFilter } from '../filter/parse.ts'
import { type ListQuery, project, writeCursor } from '../query-parameters.ts'
import { sendList } from '../replies.ts'
import { badRequest } from '../scim-error.ts'
import { presentUser } from './present-user.ts'
import { USER_SCHEMA, UserPaths } from './user-paths.ts'

interface Search {
  readonly query: ListQuery
  readonly filter: Filter | undefined
  readonly narrowed: Narrowed
  readonly reads: ScimReads
  readonly present: (user: ShownUser) => JsonObject
}

interface Found {
  readonly totalResults: number
  readonly resources: readonly JsonObject[]
  readonly hasMore: boolean
}

export async function listUsers(context: Context, env: ScimEnv, query: ListQuery): Promise<void> {
  const reads = openReads(context, env)
  const attributes = await env.attributes.definitions()
  const filter = query.filter === undefined ? undefined : parseFilter(query.filter)
  if (filter !== undefined) checkPaths(filter, (path) => new UserPaths(attributes).find(path) !== undefined)
  const narrowed = filter === undefined ? EVERYBODY : narrow(filter, reads.clientId, USER_SCHEMA)
  const present = (user: ShownUser) => presentUser(user, env.base, attributes)
  const search = { query, filter, narrowed, reads, present }
  if (!narrowed.isIndexed) await refuseLongScan(reads)
  const { totalResults, resources, hasMore } = await (narrowed.isExact ? findExactly(search) : findAmong(search))
  const last = resources.at(-1)?.id
  sendList(context, {
    totalResults,
    startIndex: query.cursor === undefined ? query.startIndex : undefined,
    nextCursor:
      query.cursor !== undefined && hasMore && typeof last === 'string' ? writeCursor(last, query.filter) : undefined,
    resources: resources.map((resource) => project(resource, query.projection, USER_SCHEMA)),
  })
}

/** The database finds the page. */
async function findExactly({ query, narrowed, reads, present }: Search): Promise<Found> {
  const { count, cursor, startIndex } = query
  const totalResults = await reads.countUsers(narrowed.condition)
  const from = cursor === undefined ? { offset: startIndex - 1 } : { afterId: cursor.afterId }
  const found = count === 0 ? [] : await reads.listUsers(narrowed.condition, { ...from, limit: count + 1 })
  return { totalResults, resources: found.slice(0, count).map(present), hasMore: found.length > count }
}

const READ_AT_ONCE = 200

/** The database finds those who may match; each is compared here, and other requests are served in between. */
async function findAmong({ query, filter, narrowed, reads, present }: Search): Promise<Found> {
  const matching: JsonObject[] = []
  let afterId = ''
  for (let read = 0; ; ) {
    const users = await reads.listUsers(narrowed.condition, { afterId, limit: READ_AT_ONCE })
    read += users.length
    if (read > MOST_ROWS) throw tooMany()
    for (const resource of users.map(present))
      if (filter === undefined || matches(filter, resource, USER_SCHEMA)) matching.push(resource)
    const last = users.at(-1)
    if (last === undefined || users.length < READ_AT_ONCE) break
    afterId = last.user.id
    await new Promise((resolve) => setImmediate(resolve))
  }
  // Not every database orders ids as the comparison with a cursor does.
  matching.sort((a, b) => (String(a.id) < String(b.id) ? -1 : 1))
  const { count, cursor, startIndex } = query
  const start = cursor === undefined ? startIndex - 1 : matching.findIndex(({ id }) => String(id) > cursor.afterId)
  const page = start < 0 ? [] : matching.slice(start, start + count)
  return { totalResults: matching.length, resources: page, hasMore: start >= 0 && matching.length > start + count }
}

async function refuseLongScan(reads: ScimReads): Promise<void> {
  if ((await reads.countUsers({ kind: 'all' }, MOST_ROWS + 1)) > MOST_ROWS) throw tooMany()
}

function tooMany() {
  return badRequest(
    'tooMany',
    `The filter would read more than ${MOST_ROWS} users: compare userName, externalId, id or emails.value with eq`,
  )
}

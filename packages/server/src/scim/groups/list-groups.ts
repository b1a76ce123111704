/** GET /Groups and POST /Groups/.search. There are few groups, and their members are read only where the reply or the filter has them. */
import type { GroupCondition, ScimGroup, ScimReads } from '../../accounts/scim-reads.ts'
import type { Context } from '../../http/context.ts'
import { MOST_ROWS, openReads, type ScimEnv } from '../environment.ts'
import type { Filter } from '../filter/ast.ts'
import { checkPaths, filterPaths } from '../filter/check-paths.ts'
import { type JsonObject, matches } from '../filter/match.ts'
import { parseFilter } from '../filter/parse.ts'
import { isShown, type ListQuery, project, writeCursor } from '../query-parameters.ts'
import { sendList } from '../replies.ts'
import { badRequest } from '../scim-error.ts'
import { chosenMember, GROUP_SCHEMA, isGroupPath } from './group-draft.ts'
import { presentGroup } from './present-group.ts'

export async function listGroups(context: Context, env: ScimEnv, query: ListQuery): Promise<void> {
  const reads = openReads(context, env)
  const filter = query.filter === undefined ? undefined : parseFilter(query.filter)
  if (filter !== undefined) checkPaths(filter, isGroupPath)
  // Not every database orders ids as the comparison with a cursor does.
  const matching = (await findGroups(filter, reads, env.base)).toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const { count, cursor, startIndex } = query
  const start = cursor === undefined ? startIndex - 1 : matching.findIndex(({ id }) => id > cursor.afterId)
  const page = start < 0 ? [] : matching.slice(start, start + count)
  const last = page.at(-1)
  const hasMore = cursor !== undefined && last !== undefined && matching.length > start + count
  const isWithMembers = isShown('members', query.projection)
  const resources = await present(page, reads, env.base, isWithMembers ? 'all' : 'none')
  sendList(context, {
    totalResults: matching.length,
    startIndex: cursor === undefined ? startIndex : undefined,
    nextCursor: hasMore ? writeCursor(last.id, query.filter) : undefined,
    resources: resources.map((resource) => project(resource, query.projection, GROUP_SCHEMA)),
  })
}

async function findGroups(filter: Filter | undefined, reads: ScimReads, base: string): Promise<readonly ScimGroup[]> {
  if (filter === undefined) return bounded(await reads.listGroups(MOST_ROWS + 1))
  const member = findMember(filter)
  const condition = await buildCondition(filter, member, reads)
  const candidates = bounded(await reads.listGroups(MOST_ROWS + 1, condition))
  // Where one member decides, the others need not be read.
  const resources = await present(candidates, reads, base, member ?? (namesMembers(filter) ? 'all' : 'none'))
  const found = new Set(resources.filter((each) => matches(filter, each, GROUP_SCHEMA)).map(({ id }) => id))
  return candidates.filter(({ id }) => found.has(id))
}

function bounded(groups: readonly ScimGroup[]): readonly ScimGroup[] {
  if (groups.length > MOST_ROWS)
    throw badRequest('tooMany', `There are more than ${MOST_ROWS} groups: compare displayName or id with eq`)
  return groups
}

/** What the database can decide of the parts that all must hold. */
async function buildCondition(
  filter: Filter,
  member: { readonly userId: string } | undefined,
  reads: ScimReads,
): Promise<GroupCondition> {
  const known = member && (await reads.listGroupsOf(member.userId))
  const displayName = equalTo(filter, 'displayname')
  const id = equalTo(filter, 'id')
  const wanted = id === undefined ? known : [id].filter((one) => known?.includes(one) ?? true)
  return { ...(wanted && { ids: wanted }), ...(displayName !== undefined && { displayName }) }
}

function equalTo(filter: Filter, name: string): string | undefined {
  const found = splitParts(filter).find(
    (part) => part.kind === 'compare' && part.op === 'eq' && part.path.name === name,
  )
  return found?.kind === 'compare' && typeof found.value === 'string' ? found.value : undefined
}

/** The one member that the filter asks for, if that is all it says about members. */
function findMember(filter: Filter): { readonly userId: string } | undefined {
  const named = filterPaths(filter).filter(({ name }) => name === 'members')
  if (named.length !== 1) return undefined
  for (const part of splitParts(filter)) {
    if (part.kind === 'present' && part.path.name === 'members') {
      const userId = chosenMember(part.path)
      if (userId !== undefined) return { userId }
    }
    if (part.kind !== 'compare' || part.path.name !== 'members' || part.op !== 'eq') continue
    const isValue = part.path.filter === undefined && (part.path.sub === undefined || part.path.sub === 'value')
    if (isValue && typeof part.value === 'string') return { userId: part.value }
  }
  return undefined
}

function splitParts(filter: Filter): readonly Filter[] {
  return filter.kind === 'and' ? filter.parts.flatMap(splitParts) : [filter]
}

function namesMembers(filter: Filter): boolean {
  return filterPaths(filter).some(({ name }) => name === 'members')
}

async function present(
  groups: readonly ScimGroup[],
  reads: ScimReads,
  base: string,
  members: 'all' | 'none' | { readonly userId: string },
): Promise<readonly JsonObject[]> {
  const externalIds = await reads.externalIds(groups.map(({ id }) => id))
  const resources: JsonObject[] = []
  let read = 0
  for (const group of groups) {
    const shown = members === 'none' ? undefined : members === 'all' ? await listMembers(group) : [members.userId]
    resources.push(presentGroup({ group, externalId: externalIds.get(group.id), members: shown }, base))
  }
  return resources

  async function listMembers(group: ScimGroup): Promise<readonly string[]> {
    const ids = await reads.listMembers(group)
    read += ids.length
    if (read > MOST_ROWS)
      throw badRequest(
        'tooMany',
        `The groups have more than ${MOST_ROWS} members: exclude them (excludedAttributes=members)`,
      )
    return ids
  }
}

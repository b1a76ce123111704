/** The AuthZEN Authorization API 1.0: its endpoints (§10.1) and its metadata (§9), on one screen. */
import { DECISIONS_SCOPE, Refusal } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import { logFailure, replyWithProblem } from '../../http/problem.ts'
import type { Route, RouteGroup } from '../../http/route.ts'
import { evaluate, type SubjectMemory, type Verdict } from './decisions.ts'
import {
  type Batch,
  readAction,
  readBatch,
  readBody,
  readEntity,
  readEntityType,
  readEvaluation,
  readPage,
} from './requests.ts'
import { type Found, type SearchEnv, searchActions, searchResources, searchSubjects } from './search.ts'

export interface AuthzenEnv extends SearchEnv {
  /** The address of this server. */
  readonly issuer: string
  /** Throws unless the caller is a client, or has a token, with the scope. */
  requireCaller(context: Context, scope: string): Promise<unknown>
}

const BODY = { limit: 1024 * 1024 }
const REQUEST_ID = /^[\x21-\x7e]{1,256}$/

const PATHS = {
  access_evaluation_endpoint: '/access/v1/evaluation',
  access_evaluations_endpoint: '/access/v1/evaluations',
  search_subject_endpoint: '/access/v1/search/subject',
  search_resource_endpoint: '/access/v1/search/resource',
  search_action_endpoint: '/access/v1/search/action',
} as const

export const AUTHZEN_CONFIGURATION = '/.well-known/authzen-configuration'

export function authzenGroup(env: AuthzenEnv): RouteGroup {
  const post = (path: string, answer: (context: Context, env: AuthzenEnv) => Promise<object>): Route => ({
    method: 'POST',
    path,
    body: BODY,
    async handle(context) {
      await env.requireCaller(context, DECISIONS_SCOPE)
      echoRequestId(context)
      context.json(await answer(context, env))
    },
  })
  return {
    at: ['/access/v1', AUTHZEN_CONFIGURATION],
    limit: 'query',
    headers: { 'cache-control': 'no-store' },
    fail(context, error) {
      echoRequestId(context)
      replyWithProblem(context, error)
    },
    routes: [
      post(PATHS.access_evaluation_endpoint, answerOne),
      post(PATHS.access_evaluations_endpoint, answerMany),
      post(PATHS.search_subject_endpoint, async (context) => {
        const body = readBody(context)
        const [type, action, resource] = [
          readEntityType(body, 'subject'),
          readAction(body),
          readEntity(body, 'resource'),
        ]
        return presentFound(await searchSubjects(type, action, resource, readPage(body), env))
      }),
      post(PATHS.search_resource_endpoint, async (context) => {
        const body = readBody(context)
        const [subject, action, type] = [
          readEntity(body, 'subject'),
          readAction(body),
          readEntityType(body, 'resource'),
        ]
        return presentFound(await searchResources(subject, action, type, readPage(body), env))
      }),
      post(PATHS.search_action_endpoint, async (context) => {
        const body = readBody(context)
        return presentFound(await searchActions(readEntity(body, 'subject'), readEntity(body, 'resource'), env))
      }),
      { method: 'GET', path: AUTHZEN_CONFIGURATION, handle: (context) => context.json(metadata(env.issuer)) },
    ],
  }
}

/** §10.1.3: the caller finds the reply by it. */
function echoRequestId(context: Context): void {
  const given = context.headers['x-request-id']
  if (typeof given === 'string' && REQUEST_ID.test(given)) context.setHeader('x-request-id', given)
}

function metadata(issuer: string): object {
  const endpoints = Object.entries(PATHS).map(([name, path]) => [name, `${issuer}${path}`])
  return { policy_decision_point: issuer, ...Object.fromEntries(endpoints) }
}

async function answerOne(context: Context, { licences }: AuthzenEnv): Promise<object> {
  return evaluate(readEvaluation(readBody(context)), licences)
}

async function answerMany(context: Context, { licences }: AuthzenEnv): Promise<object> {
  const body = readBody(context)
  const batch = readBatch(body)
  if (batch === undefined) return evaluate(readEvaluation(body), licences)
  return { evaluations: await evaluateAll(batch, context, licences) }
}

/** §7.1.2: all, or up to the first that is denied or permitted. */
async function evaluateAll(
  { evaluations, semantic }: Batch,
  context: Context,
  licences: AuthzenEnv['licences'],
): Promise<Verdict[]> {
  const known: SubjectMemory = new Map()
  const verdicts: Verdict[] = []
  for (const each of evaluations) {
    const verdict = each instanceof Refusal ? faultyItem(each, context) : await evaluate(each, licences, known)
    verdicts.push(verdict)
    if (semantic === 'deny_on_first_deny' && !verdict.decision) break
    if (semantic === 'permit_on_first_permit' && verdict.decision) break
  }
  return verdicts
}

function faultyItem(refusal: Refusal, context: Context): Verdict {
  logFailure(context, refusal)
  return { decision: false, context: { error: { status: refusal.status, message: refusal.message } } }
}

/** §8.3: the page comes first. */
function presentFound({ results, next }: Found): object {
  return { page: { next_token: next ?? '', count: results.length }, results }
}

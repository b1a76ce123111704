/** An authorization request as it was received, in a query, a form or pushed: its request object is opened, and everything is checked. */
import { type Clock, Refusal } from 'gatehouse-protocol'
import type { Client } from '../../store/clients/client-metadata.ts'
import type { ApiRegistry } from '../apis/registry.ts'
import type { AttributeDirectory } from '../attributes/attribute-directory.ts'
import type { ClientKeys } from '../clients/client-keys.ts'
import { type CheckEnv, checkRequest } from './checks.ts'
import { type HintEnv, hintReader } from './id-token-hint.ts'
import type { AuthorizationRequest, RequestParameters, Target } from './request.ts'
import { openRequestObject, type RequestObjectEnv } from './request-object.ts'
import { readTarget, registeredTarget } from './target.ts'

export interface ReceivedEnv extends HintEnv {
  readonly clock: Clock
  readonly clientKeys: ClientKeys
  readonly apis: Pick<ApiRegistry, 'known'>
  readonly attributes: Pick<AttributeDirectory, 'claims'>
}

export type Received =
  | { readonly request: AuthorizationRequest }
  /** Without a target there is no client that the refusal could be sent to. */
  | { readonly refusal: Refusal; readonly target: Target | undefined }

export async function readRequest(outer: RequestParameters, client: Client, env: ReceivedEnv): Promise<Received> {
  const checkEnv: CheckEnv & RequestObjectEnv = {
    issuer: env.issuer.name,
    clock: env.clock,
    clientKeys: env.clientKeys,
    known: env.apis.known(),
    attributes: env.attributes.claims(),
    readHint: hintReader(env),
  }
  const parameters = await orRefusal(async () => openRequestObject(outer, client, checkEnv))
  if (parameters instanceof Refusal) return { refusal: parameters, target: registeredTarget(outer, client) }
  const target = await orRefusal(async () => readTarget(parameters, client))
  if (target instanceof Refusal) return { refusal: target, target: undefined }
  const request = await orRefusal(async () => checkRequest({ parameters, client }, target, checkEnv))
  return request instanceof Refusal ? { refusal: request, target } : { request }
}

async function orRefusal<T>(work: () => Promise<T>): Promise<T | Refusal> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

/** The pages and forms of an interaction, which the parameter `flow` names. */
import type { FormParameters } from '../../http/request/body.ts'
import type { Route } from '../../http/route.ts'
import { type BrowserContext, formRoute, pageRoute } from './browser-context.ts'
import type { BrowserEnv } from './env.ts'
import { claimFlow, type FlowInteraction } from './flow.ts'

export type FlowAction = (
  context: BrowserContext,
  flow: FlowInteraction,
  parameters: FormParameters,
  env: BrowserEnv,
) => Promise<void>

export function flowPage(path: string, show: FlowAction, env: BrowserEnv): Route {
  return pageRoute(path, inFlow(show), env)
}

export function flowForm(path: string, boundTo: 'browser' | 'session', take: FlowAction, env: BrowserEnv): Route {
  return formRoute(path, boundTo, inFlow(take), env)
}

function inFlow(act: FlowAction) {
  return async (context: BrowserContext, parameters: FormParameters, env: BrowserEnv) =>
    act(context, await claimFlow(parameters.get('flow'), context, env.flows), parameters, env)
}

/** Why a sign-in through another provider fails: one code for each page that a person can see. */
import { HTTP_ERRORS, Refusal } from 'gatehouse-protocol'

export type ProviderFault = Extract<keyof typeof HTTP_ERRORS, `provider.${string}` | `identity.${string}`>

/** The reason goes to the log; texts of the provider must not be shown. */
export function providerFault(code: ProviderFault, reason: string): Refusal {
  const { status, title } = HTTP_ERRORS[code]
  return new Refusal(code, status, title, { cause: new Error(reason) })
}

export function badAnswer(reason: string): Refusal {
  return providerFault('provider.bad_answer', reason)
}

export function isProviderFault(error: unknown): error is Refusal {
  return error instanceof Refusal && /^(provider|identity)\./.test(error.code)
}

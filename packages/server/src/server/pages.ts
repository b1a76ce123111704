/** The pages for people, loaded by the first request for one: what they share, and errors as pages. */
import type { ProblemPage } from '../http/context.ts'
import { PROBLEM_TYPE } from '../http/problem.ts'
import type { BrandSettings, Pages } from '../identity/browser/page-settings.ts'
import type { Place } from '../identity/page-parts.ts'
import { lazily } from '../lib/once.ts'

const ALL_PLACES = ['console', 'account', 'documentation'] as const satisfies readonly Place[]

export interface LazyPages {
  /** The path of the issuer; the prefix of all our links. */
  readonly base: string
  readonly brand: BrandSettings
  load(): Promise<Pages>
  readonly problemPage: ProblemPage
}

export function lazyPages(base: string, brand: BrandSettings, serves: Readonly<Record<Place, boolean>>): LazyPages {
  const places = ALL_PLACES.filter((place) => serves[place])
  const load = lazily(async () => {
    const { createPages } = await import('../identity/browser/page-settings.ts')
    return createPages(base, brand, places)
  })
  return {
    base,
    brand,
    load,
    problemPage(context, problem) {
      Promise.all([load(), import('../site/problem-page.ts')])
        .then(([{ settings }, { showProblem }]) => showProblem(context, problem, settings))
        .catch((error) => {
          context.log.error({ err: error }, 'the error page could not be shown')
          if (!context.isReplied) context.send(PROBLEM_TYPE, JSON.stringify(problem), problem.status)
        })
        .catch(() => context.cutOff())
    },
  }
}

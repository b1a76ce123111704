/** How the person shall be asked, and how fresh the proof must be (B-50 to B-53). */
import { refuse } from './refuse.ts'
import type { Ask, Prompt } from './request.ts'

const PROMPTS: readonly Prompt[] = ['none', 'login', 'consent', 'select_account']

export function readPrompt({ parameters }: Ask): Prompt[] {
  const words = (parameters.get('prompt') ?? '').split(' ').filter((word) => word !== '')
  const prompts = words.map((word) => {
    const prompt = PROMPTS.find((known) => known === word)
    if (prompt === undefined) throw refuse('invalid_request', 'prompt holds a value that is not offered')
    return prompt
  })
  if (prompts.includes('none') && prompts.length > 1) throw refuse('invalid_request', 'prompt=none stands alone')
  return [...new Set(prompts)]
}

export function readMaxAge({ parameters, client }: Ask): number | undefined {
  const text = parameters.get('max_age')
  if (text === undefined) return client.defaultMaxAge
  if (!/^\d{1,10}$/.test(text)) throw refuse('invalid_request', 'max_age must be a whole number of seconds')
  return Number(text)
}

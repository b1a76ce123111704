/** Second factors: added and removed. */
import type { NewFactor, Removal } from '../store/accounts/factors.ts'
import { actorFor, type Inside, isOwner } from './inside.ts'

export function changeFactors(inside: Inside) {
  const { stores, author, record, notify } = inside
  return {
    async addFactor({ userId, ...factor }: NewFactor): Promise<string> {
      const id = await stores.factors.add({ ...factor, userId })
      const { kind, label } = factor
      await notify({ kind: 'factor-added', userId, subject: label })
      record({ event: 'factor.added', actor: actorFor(userId, author), details: { kind, factor: id, label } })
      return id
    },

    /** By its owner: the last one is kept where one is required. By an operator, for somebody who has lost it. */
    async removeFactor(userId: string, id: string): Promise<Removal['outcome']> {
      const user = await stores.users.findById(userId)
      const isOwn = isOwner(author)
      const removal = await stores.factors.remove(userId, id, {
        keepLast: isOwn && user?.requiresSecondFactor === true,
      })
      if (removal.outcome !== 'removed') return removal.outcome
      const { kind, label } = removal.factor
      await notify({ kind: 'factor-removed', userId, subject: label })
      if (user?.breakGlass === true) inside.concernsEmergencies()
      const details = { kind, factor: id, label }
      if (isOwn) record({ event: 'factor.removed', details })
      else record({ event: 'factor.removed', target: userId, details: { ...details, reason: 'operator' } })
      return 'removed'
    },

    async replaceRecoveryCodes(userId: string, digests: readonly string[]): Promise<void> {
      await stores.factors.replaceRecoveryCodes(userId, digests)
    },
  }
}

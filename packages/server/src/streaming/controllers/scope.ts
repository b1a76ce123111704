/**
 * Runs the code of custom controllers in a separate asynchronous context. Timers, promises and emitters that they start keep the
 * context, so an uncaught error can be attributed to them. No state of the server is changed in that context.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import type { RunningSubscription, UrgentSink } from 'gatehouse-protocol'
import type { Controller, Topic, TopicRunRules } from '../topics/controller.ts'

const scope = new AsyncLocalStorage<string>()

/** The name of the controller whose code runs, or whose error was not caught. */
export function currentController(): string | undefined {
  return scope.getStore()
}

export function runAsController<Result>(name: string, act: () => Result): Result {
  return scope.run(name, act)
}

/** Our own code, called by a controller. */
export function runAsServer<Result>(act: () => Result): Result {
  return scope.exit(act)
}

/** The same controller, whose functions run in its context. */
export function scoped(controller: Controller): Controller {
  const { name, summary, topics, feedClass } = controller
  return {
    name,
    summary,
    ...(feedClass === undefined ? {} : { feedClass }),
    topics: Object.fromEntries(Object.entries(topics).map(([topic, rules]) => [topic, scopedTopic(name, rules)])),
    start: (publisher) => {
      const stop = scope.run(name, () => controller.start?.(publisher))
      return stop && (() => scope.run(name, stop))
    },
  }
}

function scopedTopic(name: string, topic: Topic): Topic {
  const { summary, subscription } = topic
  return {
    summary,
    // Read again each time, as with built-in controllers.
    get needs() {
      return topic.needs
    },
    ...(topic.publishNeeds && { publishNeeds: topic.publishNeeds }),
    ...(topic.repliesOnlyToId && { repliesOnlyToId: true }),
    ...(topic.publish === undefined ? {} : { publish: (call) => scope.run(name, () => topic.publish?.(call)) }),
    ...(topic.replyTopic === undefined
      ? {}
      : { replyTopic: (call) => scope.run(name, () => topic.replyTopic?.(call) ?? call.topic) }),
    ...(subscription === undefined ? {} : { subscription: scopedSubscription(name, subscription) }),
  }
}

function scopedSubscription(name: string, rules: NonNullable<Topic['subscription']>): Topic['subscription'] & {} {
  if (rules.open !== undefined)
    return {
      ...(rules.isCounted && { isCounted: true }),
      open: async (call, sink) => scopedRunning(name, await openIn(name, rules, call, outside(sink))),
    }
  if (rules.snapshot === undefined) return rules
  return { slow: rules.slow, snapshot: (call) => scope.run(name, () => rules.snapshot?.(call)) }
}

function openIn(name: string, rules: TopicRunRules, ...[call, sink]: Parameters<TopicRunRules['open']>) {
  return scope.run(name, () => rules.open(call, sink))
}

function scopedRunning(name: string, running: RunningSubscription): RunningSubscription {
  return {
    drained: () => scope.run(name, () => running.drained()),
    setPrincipal: (principal) => scope.run(name, () => running.setPrincipal(principal)),
    pause: () => scope.run(name, () => running.pause()),
    resume: (principal) => scope.run(name, () => running.resume(principal)),
    close: () => scope.run(name, () => running.close()),
  }
}

function outside<Data>(sink: UrgentSink<Data>): UrgentSink<Data> {
  return {
    send: (data) => scope.exit(() => sink.send(data)),
    sendOrClose: (data) => scope.exit(() => sink.sendOrClose(data)),
    get isOpen() {
      return sink.isOpen
    },
    end: (reason) => scope.exit(() => sink.end(reason)),
    get maySend() {
      return sink.maySend
    },
  }
}

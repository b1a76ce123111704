/** The log as Fastify wants it: with a child for each request, made only when the request has a line of its own to write. */
import type { FastifyBaseLogger, FastifyLogFn } from 'fastify'

type Child = Parameters<FastifyBaseLogger['child']>

export class RequestLog implements FastifyBaseLogger {
  readonly #parent: FastifyBaseLogger
  readonly #child: Child | undefined
  #made: FastifyBaseLogger | undefined

  constructor(parent: FastifyBaseLogger, child?: Child) {
    this.#parent = parent
    this.#child = child
  }

  child(...child: Child): FastifyBaseLogger {
    return new RequestLog(this.#logger, child)
  }

  get level(): string {
    return this.#logger.level
  }
  get trace(): FastifyLogFn {
    return this.#logger.trace.bind(this.#logger)
  }
  get debug(): FastifyLogFn {
    return this.#logger.debug.bind(this.#logger)
  }
  get info(): FastifyLogFn {
    return this.#logger.info.bind(this.#logger)
  }
  get warn(): FastifyLogFn {
    return this.#logger.warn.bind(this.#logger)
  }
  get error(): FastifyLogFn {
    return this.#logger.error.bind(this.#logger)
  }
  get fatal(): FastifyLogFn {
    return this.#logger.fatal.bind(this.#logger)
  }
  get silent(): FastifyLogFn {
    return this.#logger.silent.bind(this.#logger)
  }

  get #logger(): FastifyBaseLogger {
    this.#made ??= this.#child === undefined ? this.#parent : this.#parent.child(...this.#child)
    return this.#made
  }
}

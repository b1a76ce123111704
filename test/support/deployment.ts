/** What Kubernetes does with a Deployment, for processes on this machine: probes, endpoints, and a rolling update. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningProcess } from './process.ts'

export interface Probe {
  readonly httpGet: { readonly path: string }
  readonly periodSeconds: number
  readonly timeoutSeconds?: number
  readonly failureThreshold: number
}

export interface DeploymentOptions {
  readonly replicas: number
  readonly readinessProbe: Probe
  readonly terminationGracePeriodSeconds: number
  /** How long a load balancer takes to hear of a change. */
  readonly propagationMs: number
  startPod(): Promise<RunningProcess>
  /** The ports of the pods that get connections from now on. */
  onEndpoints(ports: readonly number[]): void
}

interface Pod {
  readonly process: RunningProcess
  isReady: boolean
  isTerminating: boolean
  failures: number
}

export class Deployment {
  readonly #options: DeploymentOptions
  #pods: Pod[] = []
  #isRunning = true
  readonly #terminations: Promise<void>[] = []
  /** Exit statuses of the pods that were replaced; `killed` for one that took too long. */
  readonly statuses: (number | 'killed')[] = []

  constructor(options: DeploymentOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    for (let count = 0; count < this.#options.replicas; count++) await this.#addPod()
  }

  /** As with maxSurge 1 and maxUnavailable 0: a new pod is ready before an old one is told to stop. */
  async update(): Promise<void> {
    for (const old of [...this.#pods]) {
      await this.#addPod()
      this.#terminations.push(this.#terminate(old))
    }
    await Promise.all(this.#terminations)
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    await Promise.all(this.#pods.map(({ process }) => process.stop('SIGKILL')))
  }

  async #addPod(): Promise<void> {
    const pod = { process: await this.#options.startPod(), isReady: false, isTerminating: false, failures: 0 }
    this.#pods.push(pod)
    void this.#probe(pod)
    while (!pod.isReady) await sleep(50)
    await sleep(this.#options.propagationMs)
  }

  async #terminate(pod: Pod): Promise<void> {
    pod.isTerminating = true
    this.#announce()
    const late = setTimeout(() => {
      this.statuses.push('killed')
      pod.process.child.kill('SIGKILL')
    }, this.#options.terminationGracePeriodSeconds * 1000)
    const status = await pod.process.stop()
    clearTimeout(late)
    if (status !== null) this.statuses.push(status)
    this.#pods = this.#pods.filter((other) => other !== pod)
  }

  async #probe(pod: Pod): Promise<void> {
    const { httpGet, periodSeconds, timeoutSeconds = 1, failureThreshold } = this.#options.readinessProbe
    while (this.#isRunning && this.#pods.includes(pod)) {
      const url = `http://127.0.0.1:${pod.process.port}${httpGet.path}`
      const isOk = await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(timeoutSeconds * 1000) }).then(
        ({ ok }) => ok,
        () => false,
      )
      pod.failures = isOk ? 0 : pod.failures + 1
      const wasReady = pod.isReady
      pod.isReady = isOk || (pod.isReady && pod.failures < failureThreshold)
      if (pod.isReady !== wasReady) this.#announce()
      await sleep(periodSeconds * 1000)
    }
  }

  #announce(): void {
    const ready = this.#pods.filter(({ isReady, isTerminating }) => isReady && !isTerminating)
    const ports = ready.map(({ process }) => process.port)
    setTimeout(() => this.#options.onEndpoints(ports), this.#options.propagationMs)
  }
}

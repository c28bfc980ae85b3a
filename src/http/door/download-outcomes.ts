export const downloadOutcomes = ['whole', 'ended_by_client', 'failed_at_source'] as const
type DownloadOutcome = (typeof downloadOutcomes)[number]

/** How the downloads of this process have ended. */
export interface DownloadCounts {
  add(outcome: DownloadOutcome): void
  of(outcome: DownloadOutcome): number
}

export function countDownloads(): DownloadCounts {
  const counts = { whole: 0, ended_by_client: 0, failed_at_source: 0 }
  return {
    add(outcome) {
      counts[outcome]++
    },
    of: (outcome) => counts[outcome],
  }
}

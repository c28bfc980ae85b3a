/** GitLab's names for the reactions of GitHub and Gitea. All other names are the same. */
export const EMOJI_BY_REACTION: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '+1': 'thumbsup',
    '-1': 'thumbsdown',
    laugh: 'smile',
    hooray: 'tada',
  }),
)

/** The roles of members. */
export const ACCESS_LEVELS = { none: 0, guest: 10, developer: 30, maintainer: 40 }

/** Who can see a project: its members, every account, everyone. */
export const VISIBILITY = { private: 0, internal: 10, public: 20 }

/** Whether a project has a feature, such as a wiki. */
export const FEATURE = { off: 0, on: 20 }

/** An importer of GitLab cuts longer lines, and then cannot parse them. */
export const MAX_JSON_BYTES = 50 * 1024 * 1024

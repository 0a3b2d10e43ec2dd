// SPDX-License-Identifier: Apache-2.0
#ifdef HALOCLINE_CURL
#include "http_client.hpp"

#include <algorithm>
#include <list>
#include <utility>

#include "curl_pool.hpp"
#include "halocline/core/expects.hpp"
#include "transfer.hpp"

namespace halocline::storage {

/// One call of `perform`: its transfers wait, run or pause until they are done.
class transfer_run {
 public:
  transfer_run(http_client& client, CURLM* multi, std::span<http_job> jobs, const part_progress& progress,
               const std::stop_token& stop)
      : client_(client), multi_(multi), jobs_(jobs), progress_(progress), stop_(stop) {
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(client.options_.connections));
  }
  ~transfer_run() {
    for (const auto& each : running_) curl_multi_remove_handle(multi_, each->handle());
  }
  transfer_run(const transfer_run&) = delete;
  transfer_run& operator=(const transfer_run&) = delete;

  void run() {
    while (next_job_ < jobs_.size() || !running_.empty() || !pausing_.empty()) {
      HALOCLINE_EXPECTS(!stop_.stop_requested(), io_error, jobs_.front().url, ": the request was given up");
      start_ready();
      int active = 0;
      expect_ok(curl_multi_perform(multi_, &active));
      if (take_results() || drop_silent()) continue;  // there is room for others
      expect_ok(curl_multi_poll(multi_, nullptr, 0, patience(), nullptr));
      HALOCLINE_EXPECTS(steady::now() < until_, io_error, overdue());
    }
  }

 private:
  using slot = std::unique_ptr<transfer>;

  static void expect_ok(CURLMcode code) {
    HALOCLINE_EXPECTS(code == CURLM_OK, io_error, "libcurl failed: ", curl_multi_strerror(code));
  }

  [[nodiscard]] std::chrono::milliseconds left() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(until_ - steady::now());
  }

  void start(slot job) {
    CURL* const handle = job->start(left());
    ++client_.requests_;
    if (job->is_retry()) ++client_.retries_;
    if (job->is_resumed()) ++client_.resumed_;
    running_.push_back(std::move(job));
    expect_ok(curl_multi_add_handle(multi_, handle));
  }

  /// Starts what may run: retries whose pause is over first, then new jobs.
  void start_ready() {
    for (auto at = pausing_.begin(); at != pausing_.end();) {
      if ((*at)->next() > steady::now() || running_.size() >= client_.options_.connections) {
        ++at;
        continue;
      }
      slot ready = std::move(*at);
      at = pausing_.erase(at);
      start(std::move(ready));
    }
    while (next_job_ < jobs_.size() && running_.size() + pausing_.size() < client_.options_.connections) {
      auto made = std::make_unique<transfer>(jobs_[next_job_], client_.options_, client_.signature_);
      if (progress_) made->report_to(progress_, next_job_);
      start(std::move(made));
      ++next_job_;
    }
  }

  [[nodiscard]] bool take_results() {
    bool some = false;
    int queued = 0;
    while (const CURLMsg* const message = curl_multi_info_read(multi_, &queued)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode result = message->data.result;
      CURL* const handle = message->easy_handle;
      const auto at = std::ranges::find_if(running_, [&](const slot& s) { return s->handle() == handle; });
      curl_multi_remove_handle(multi_, handle);
      slot finished = std::move(*at);
      running_.erase(at);
      take(std::move(finished), result);
      some = true;
    }
    return some;
  }

  /// Ends attempts whose connection is silent. (CURLOPT_LOW_SPEED_TIME averages over some seconds before.)
  [[nodiscard]] bool drop_silent() {
    bool some = false;
    for (auto at = running_.begin(); at != running_.end();) {
      if (!(*at)->is_silent()) {
        ++at;
        continue;
      }
      curl_multi_remove_handle(multi_, (*at)->handle());
      slot silent = std::move(*at);
      at = running_.erase(at);
      take(std::move(silent), CURLE_OPERATION_TIMEDOUT);
      some = true;
    }
    return some;
  }

  void take(slot finished, CURLcode result) {
    if (!finished->finish(result)) {
      pausing_.push_back(std::move(finished));
      return;
    }
    http_job& job = finished->job();
    client_.read_ += job.is_range ? job.dst.size() : job.body.size();
    client_.sent_ += job.upload.size();
  }

  /// Milliseconds until something is due besides the network.
  [[nodiscard]] int patience() const {
    auto due = until_;
    for (const slot& each : pausing_) due = std::min(due, each->next());
    const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(due - steady::now()).count() + 1;
    return static_cast<int>(std::clamp<std::int64_t>(wait, 0, 200));
  }

  [[nodiscard]] std::string overdue() const {
    const slot& one = running_.empty() ? pausing_.front() : running_.front();
    return text(one->subject(), ": not done within the deadline of ", client_.options_.deadline_seconds,
                " s; ", one->received(), " of ", one->job().dst.size(), " bytes are there",
                one->failure().empty() ? "" : ", the last failure: ", one->failure());
  }

  http_client& client_;
  CURLM* multi_;
  std::span<http_job> jobs_;
  const part_progress& progress_;
  const std::stop_token& stop_;
  std::size_t next_job_ = 0;
  std::list<slot> running_;
  std::list<slot> pausing_;
  steady::time_point until_ =
      steady::now() + std::chrono::duration_cast<steady::duration>(
                          std::chrono::duration<double>(client_.options_.deadline_seconds));
};

http_client::http_client(store_options options, s3_signature signature)
    : options_(std::move(options)), signature_(std::move(signature)), pool_(std::make_unique<curl_pool>()) {}

http_client::~http_client() = default;

void http_client::perform(std::span<http_job> jobs, const part_progress& progress,
                          const std::stop_token& stop) {
  multi_handle multi = pool_->take();  // dropped with its connections when something throws
  transfer_run(*this, multi.get(), jobs, progress, stop).run();
  pool_->give(std::move(multi));
}

store_counts http_client::counts() const { return {requests_, retries_, resumed_, read_, sent_}; }

object_version version_at(http_client& client, const std::string& url) {
  http_job job{http_method::head, url};
  client.perform({&job, 1});
  if (job.status == 404) return {};
  // Weak tags are for contents that mean the same, and never match.
  return {true, job.tag.starts_with('"') ? job.tag : std::string()};
}

bool put_at(http_client& client, const std::string& url, std::span<const std::byte> content,
            const object_version& before, long& status) {
  http_job job{http_method::put, url, content};
  if (!before.exists) job.condition = "If-None-Match: *";
  if (!before.tag.empty()) job.condition = "If-Match: " + before.tag;
  client.perform({&job, 1});
  status = job.status;
  if (status == 501) {  // no conditions
    http_job plain{http_method::put, url, content};
    client.perform({&plain, 1});
    status = plain.status;
  }
  if (status == 404 && !before.tag.empty()) status = 412;  // deleted meanwhile
  return status != 409 && status != 412;
}

std::vector<http_job> range_jobs(const std::string& url, std::uint64_t object_bytes,
                                 std::span<const range_read> parts) {
  std::vector<http_job> jobs(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    jobs[i].url = url;
    jobs[i].is_range = true;
    jobs[i].dst = parts[i].dst;
    jobs[i].offset = parts[i].offset;
    jobs[i].object_bytes = object_bytes;
  }
  return jobs;
}

}  // namespace halocline::storage
#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "halocline/storage/object_store.hpp"

namespace halocline::storage {

/// A store in a folder, which is made when something is put.
[[nodiscard]] std::shared_ptr<object_store> open_folder(const std::string& path,
                                                        const store_options& options);
/// A store on a web server; `url` ends with '/'.
[[nodiscard]] std::shared_ptr<object_store> open_http(const std::string& url, const store_options& options);
/// A store in a bucket; `prefix` is empty or ends with '/'.
[[nodiscard]] std::shared_ptr<object_store> open_s3(const std::string& bucket, const std::string& prefix,
                                                    const store_options& options);

}  // namespace halocline::storage

"""The table: which scripts, on which backend, and how each is shortened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Changes = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Script:
    path: str
    backend: str = "tensorflow"  # of a script that names none
    epochs: int = 2
    changes: Changes = ()  # regular expressions and what replaces them
    files: str = ""  # what a shell line of the script would have downloaded
    count: str = (
        "batches"  # how the true steps are counted: batches, updates (their sum), largest, torch, none
    )
    compared: bool = False  # also run bare, and compare the printed losses
    environment: dict[str, str] = field(default_factory=dict)
    together: tuple[
        int, ...
    ] = ()  # optimizers that step together with another one: a generator with its critic
    steps: int | None = None  # the true steps, where nothing in the process counts them
    faults: tuple[str, ...] = ()  # causes that are true of the script as it was published

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1].removesuffix(".py")

    def truth(self, counted: dict[str, Any]) -> tuple[int | None, int | None]:
        """The true steps and epochs; None where they are not known."""
        if self.steps is not None or not counted or self.count == "none":
            return self.steps, None
        if self.count == "updates":
            left_out = {at % len(counted["updates"]) for at in self.together}
            return sum(one for at, one in enumerate(counted["updates"]) if at not in left_out), None
        if self.count == "largest":
            return max(counted["updates"]), None
        if self.count == "torch":
            return counted["torch_steps"] + sum(counted["updates"]), None
        return counted["batches"], counted["epochs"]


def _set(**values: object) -> Changes:
    """`name = …` or `"name": …` gets another value, wherever a line begins with it."""
    number = r"(?:\([\d, ]+\)|\[[\d, ]+\]|\d[\d.]*)"
    return tuple((rf'^( *"?{name}"? ?[=:] ?){number}', rf"\g<1>{value}") for name, value in values.items())


def _rows(train: int, test: int = 128) -> dict[str, str]:
    return {"PUBLIC_TRAIN": str(train), "PUBLIC_TEST": str(test)}


SCRIPTS = (
    Script(
        "examples/vision/image_classification_with_vision_transformer.py",
        changes=_set(transformer_layers=1, image_size=24),
        environment=_rows(144, 40),
    ),
    Script("guides/writing_a_custom_training_loop_in_tensorflow.py", count="updates", together=(-1,)),
    Script("guides/distributed_training_with_tensorflow.py"),
    Script("examples/vision/siamese_contrastive.py", backend="jax", compared=True),
    Script("examples/vision/knowledge_distillation.py", environment=_rows(256, 64)),
    Script("examples/vision/mnist_convnet.py", compared=True),
    Script("guides/writing_your_own_callbacks.py", compared=True),
    Script(
        "examples/generative/vae.py",
        epochs=6,
        changes=((r"n=30", "n=3"),),
        environment=_rows(256, 64),
        compared=True,
    ),
    Script("examples/generative/conditional_gan.py", environment=_rows(256, 64), compared=True),
    Script("guides/custom_train_step_in_jax.py", compared=True),
    Script(
        "examples/rl/actor_critic_cartpole.py",
        changes=((r"if running_reward > 195:", "if episode_count >= 12:"),),
        count="updates",
    ),
    Script(
        "examples/rl/ppo_cartpole.py",
        changes=(
            *_set(steps_per_epoch=200, train_policy_iterations=10, train_value_iterations=10),
            (r"= env\.action_space\.n", "= int(env.action_space.n)"),
            (
                r"action, reward, value_t, logprobability_t\)",
                "action[0], reward, value_t[0], logprobability_t[0])",
            ),
        ),
        count="updates",
    ),
    Script("examples/keras_recipes/trainer_pattern.py", compared=True),
    Script("guides/custom_train_step_in_tensorflow.py", compared=True),
    Script("examples/keras_recipes/endpoint_layer_pattern.py"),
    Script(
        "examples/structured_data/imbalanced_classification.py",
        changes=((r"^fname = .*", 'fname = "creditcard.csv"'),),
        files="payments",
    ),
    Script("examples/structured_data/collaborative_filtering_movielens.py"),
    Script("examples/structured_data/structured_data_classification_from_scratch.py", compared=True),
    Script("examples/structured_data/structured_data_classification_with_feature_space.py"),
    Script("examples/keras_recipes/subclassing_conv_layers.py"),
    Script("examples/keras_recipes/antirectifier.py"),
    Script("examples/keras_recipes/sklearn_metric_callbacks.py"),
    Script(
        "examples/keras_recipes/reproducibility_recipes.py",
        changes=((r"\(shape=\(1, 1\)\)\)", "(shape=(1, 1))[0][0])"),),
        compared=True,
    ),
    Script("examples/keras_recipes/tensorflow_numpy_models.py"),
    Script("examples/keras_recipes/debugging_tips.py", environment=_rows(400)),
    Script("guides/writing_a_custom_training_loop_in_jax.py", count="none"),
    Script("guides/customizing_saving_and_serialization.py"),
    Script("guides/serialization_and_saving.py", backend="jax"),
    Script("guides/functional_api.py", changes=((r"VGG19\(\)", "VGG19(weights=None)"),)),
    Script("guides/making_new_layers_and_models_via_subclassing.py"),
    Script("guides/_customizing_what_happens_in_fit.py"),
    Script("guides/_distributed_training.py"),
    Script("guides/_working_with_rnns.py"),
    Script("examples/vision/mixup.py", changes=((r"val_samples = 2000", "val_samples = 64"),)),
    Script("examples/nlp/addition_rnn.py", changes=_set(TRAINING_SIZE=600), epochs=4),
    Script("examples/nlp/bidirectional_lstm_imdb.py", environment=_rows(256, 64), compared=True),
    Script("examples/nlp/lstm_seq2seq.py", changes=(*_set(latent_dim=32), (r"range\(20\)", "range(2)"))),
    Script("examples/nlp/text_classification_with_transformer.py", environment=_rows(256, 64)),
    Script("examples/nlp/text_classification_with_switch_transformer.py", environment=_rows(192, 64)),
    Script("examples/timeseries/timeseries_classification_from_scratch.py"),
    Script(
        "examples/timeseries/timeseries_weather_forecasting.py",
        changes=_set(past=120, future=24),
        environment={"PUBLIC_ROWS": "100"},
    ),
    Script("examples/graph/gat_node_classification.py"),  # two bare runs print different losses
    Script("examples/structured_data/tabtransformer.py"),
    Script("examples/structured_data/wide_deep_cross_networks.py"),
    Script("examples/vision/forwardforward.py"),
    Script(
        "examples/vision/attention_mil_classification.py",
        changes=_set(BAG_COUNT=120, VAL_BAG_COUNT=40),
        environment=_rows(512, 256),
    ),
    Script("examples/generative/wgan_gp.py", environment=_rows(128, 32)),
    Script("examples/generative/pixelcnn.py", environment=_rows(128, 32)),
    Script(
        "examples/generative/dcgan_overriding_train_step.py",
        changes=((r"makedirs\(.celeba_gan.\)", "makedirs('celeba_gan', exist_ok=True)"),),
        files="celeba",
    ),
    Script("guides/keras_tuner/custom_tuner.py", count="updates"),
    Script("guides/keras_tuner/failed_trials.py", count="batches"),
    Script("guides/keras_tuner/tailor_the_search_space.py", count="batches"),
    Script("guides/distributed_training_with_torch.py", count="torch"),
    Script("guides/distributed_training_with_jax.py", count="none"),
    Script("guides/sequential_model.py"),
    Script("guides/writing_quantization_compatible_layers.py", backend="jax"),
    Script("examples/nlp/multi_label_classification.py"),
    Script("examples/graph/node2vec_movielens.py"),
    Script("examples/structured_data/movielens_recommendations_transformers.py"),
    Script(
        "examples/generative/lstm_character_level_text_generation.py",
        changes=((r"range\(400\)", "range(4)"),),
    ),
    Script("examples/nlp/text_classification_from_scratch.py", files="reviews"),
    Script(
        "examples/nlp/neural_machine_translation_with_transformer.py",
        changes=_set(embed_dim=32, latent_dim=64, vocab_size=500),
    ),
    Script(
        "examples/vision/metric_learning.py",
        changes=(
            (r"num_batches=1000", "num_batches=40"),
            (r"0, 50000,", "0, 512,"),
            (r"self\.num_batches", "self.batches"),
        ),
        environment=_rows(512, 256),
    ),
    Script("examples/vision/super_resolution_sub_pixel.py", changes=_set(crop_size=60)),
    Script("examples/vision/captcha_ocr.py", files="captchas"),
    Script(
        "examples/vision/zero_dce.py",
        changes=_set(IMAGE_SIZE=32, MAX_TRAIN_IMAGES=32, BATCH_SIZE=8),
        files="lights",
    ),
    Script(
        "examples/vision/mlp_image_classification.py",
        changes=_set(embedding_dim=32, num_blocks=2),
        environment=_rows(256, 64),
        backend="torch",
    ),
    Script("examples/vision/gradient_centralization.py"),
    Script("examples/generative/real_nvp.py"),
    Script("examples/keras_recipes/approximating_non_function_mappings.py"),
    Script(
        "examples/timeseries/timeseries_anomaly_detection.py",
        changes=_set(TIME_STEPS=48),
        compared=True,
        backend="jax",
    ),
    Script("guides/writing_a_custom_training_loop_in_torch.py", environment=_rows(192, 32), count="torch"),
    Script("examples/vision/autoencoder.py", backend="jax", environment=_rows(128, 40), compared=True),
    Script("examples/timeseries/timeseries_traffic_forecasting.py"),
    Script(
        "examples/keras_recipes/memory_efficient_embeddings.py",
        changes=((r"\b400\b", "20"), (r"\b1700\b", "40")),
    ),
    Script("examples/structured_data/deep_neural_decision_forests.py"),
    Script("examples/generative/vq_vae.py", environment=_rows(256, 64), compared=True),
    Script("examples/rl/ddpg_pendulum.py", changes=_set(total_episodes=1), count="updates", together=(-1,)),
    Script("guides/keras_tuner/visualize_tuning.py", count="batches"),
    Script("guides/distribution.py", backend="jax"),
    Script("examples/keras_recipes/packaging_keras_models_for_wide_distribution.py"),
    Script("examples/keras_recipes/bayesian_neural_networks.py"),
    Script("guides/_preprocessing_layers.py"),
    Script("guides/orbax_checkpoint.py"),
    Script("examples/vision/involution.py", environment=_rows(256, 64)),
    Script(
        "examples/vision/eanet.py",
        changes=_set(num_transformer_blocks=2, embedding_dim=32, mlp_dim=32),
        environment=_rows(160, 40),
        backend="jax",
    ),
    Script("examples/vision/focal_modulation_network.py", environment=_rows(96, 40)),
    Script("examples/vision/cct.py", environment=_rows(160, 40), backend="jax"),
    Script("examples/vision/patch_convnet.py", changes=_set(DIMENSIONS=32), environment=_rows(128, 40)),
    Script(
        "examples/vision/adamatch.py",
        changes=_set(DEPTH=10, WIDTH_MULT=1, SOURCE_BATCH_SIZE=16),
        environment=_rows(128, 64),
    ),
    Script("examples/vision/cutmix.py", environment=_rows(128, 40)),
    Script("examples/vision/semantic_image_clustering.py", environment=_rows(128, 64)),
    Script(
        "examples/vision/vit_small_ds.py",
        changes=_set(TRANSFORMER_LAYERS=2, IMAGE_SIZE=36),
        environment=_rows(128, 40),
        backend="torch",
    ),
    Script(
        "examples/vision/temporal_latent_bottleneck.py",
        changes=_set(batch_size=32, image_size=24),
        environment=_rows(128, 40),
        backend="jax",
    ),
    Script(
        "examples/vision/masked_image_modeling.py",
        changes=_set(ENC_LAYERS=2, IMAGE_SIZE=24),
        environment=_rows(128, 64),
    ),
    Script("examples/vision/conv_lstm.py"),
    Script(
        "examples/vision/mobilevit.py",
        changes=_set(image_size=64, resize_bigger=70),
        environment=_rows(128, 40),
    ),
    Script(
        "examples/vision/learnable_resizer.py",
        changes=_set(INP_SIZE=(64, 64), TARGET_SIZE=(32, 32)),
        environment=_rows(96, 32),
    ),
    Script(
        "examples/vision/semisupervised_simclr.py",
        changes=_set(unlabeled_dataset_size=160, labeled_dataset_size=80, batch_size=24, width=16),
        environment=_rows(160, 40),
    ),
    Script(
        "examples/vision/oxford_pets_image_segmentation.py",
        changes=_set(img_size=(32, 32)),
        backend="jax",
        files="pets",
    ),
    Script(
        "examples/vision/image_classification_from_scratch.py",
        changes=_set(image_size=(48, 48)),
        files="cats-and-dogs",
    ),
    Script(
        "examples/generative/ddim.py",
        changes=_set(
            image_size=16,
            widths=[8, 16],
            kid_diffusion_steps=2,
            plot_diffusion_steps=2,
            dataset_repetitions=1,
        ),
        environment=_rows(128, 64),
    ),
    Script(
        "examples/generative/text_generation_with_miniature_gpt.py",
        changes=_set(embed_dim=32, feed_forward_dim=32, num_tokens_generated=4),
        files="reviews",
    ),
    Script(
        "examples/nlp/active_learning_review_classification.py",
        changes=_set(val_split=50, test_split=50, train_split=150),
    ),
    Script("examples/structured_data/classification_with_grn_and_vsn.py"),
    Script("examples/timeseries/timeseries_classification_transformer.py", faults=("vanishing-gradients",)),
    Script("examples/timeseries/eeg_signal_classification.py"),
    Script("guides/custom_train_step_in_torch.py", environment=_rows(128, 40), compared=True),
    Script("guides/intro_to_keras_for_engineers.py"),
    Script(
        "guides/training_with_built_in_methods.py", changes=((r"steps_per_epoch=100", "steps_per_epoch=3"),)
    ),
    Script(
        "guides/transfer_learning.py",
        changes=((r"150, 150", "75, 75"),),
        environment=_rows(64, 32),
        count="updates",
    ),
    Script("guides/migrating_to_keras_3.py", count="updates"),
    Script("guides/int8_quantization_in_keras.py", backend="jax"),
    Script("guides/keras_tuner/getting_started.py", count="batches"),
    Script(
        "examples/vision/shiftvit.py",
        changes=_set(num_shift_blocks_per_stages=[1, 1, 1, 1], projected_dim=24),
        environment=_rows(96, 40),
    ),
    Script("examples/vision/consistency_training.py", changes=_set(RESIZE_TO=32), environment=_rows(96, 32)),
    Script("examples/vision/token_learner.py", environment=_rows(128, 40)),
    Script(
        "examples/vision/perceiver_image_classification.py",
        changes=_set(image_size=16, latent_dim=32, projection_dim=32, num_transformer_blocks=2),
        environment=_rows(128, 40),
        backend="jax",
    ),
    Script("examples/vision/convmixer.py", environment=_rows(96, 40)),
    Script("examples/vision/swin_transformers.py", environment=_rows(128, 40)),
    Script("examples/vision/nerf.py"),
    Script("examples/vision/reptile.py", changes=_set(meta_iters=12), count="none"),
    Script(
        "examples/vision/fixres.py", changes=_set(smaller_size=32, bigger_size=48), environment=_rows(64, 32)
    ),
    Script("examples/vision/supervised-contrastive-learning.py", environment=_rows(96, 40)),
    Script("examples/vision/simsiam.py", environment=_rows(96, 40)),
    Script("examples/vision/randaugment.py"),
    Script(
        "examples/vision/image_classification_efficientnet_fine_tuning.py",
        changes=_set(IMG_SIZE=32),
        environment=_rows(64, 32),
    ),
    Script("examples/vision/bit.py"),
    Script(
        "examples/generative/ddpm.py",
        changes=_set(img_size=16, first_conv_channels=16, total_timesteps=10),
        environment=_rows(96, 32),
    ),
    Script(
        "examples/generative/gan_ada.py",
        changes=_set(image_size=16, depth=2, width=16),
        environment=_rows(128, 64),
    ),
    Script("examples/generative/neural_style_transfer.py", changes=_set(iterations=8, img_nrows=64)),
    Script("examples/rl/deep_q_network_breakout.py", count="none"),
    Script("examples/graph/gnn_citations.py"),
)
